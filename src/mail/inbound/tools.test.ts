import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";
import { clock, ids, log, newSpool } from "../mail.testing.ts";
import type { Envelope } from "../messages/index.ts";
import { createSubmissionListener } from "../submission/index.ts";
import { listen, testCertificates, withoutReceived } from "./listening.testing.ts";

/** Tests with third-party clients. The server runs in this process, the clients in separate processes. */
const FOLDERS = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];

function withProgram(
  name: string,
  title: string,
  run: (t: TestContext, call: (...args: string[]) => Promise<{ code: number; output: string }>) => Promise<void>,
) {
  const program = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (program !== undefined) return test(`${name}: ${title}`, (t) => run(t, (...args) => call(program, args)));
  if (process.env["REQUIRE_ALL"] === "1")
    return test(name, () =>
      Promise.reject(
        new Error(`${name} is not installed, and REQUIRE_ALL=1 forbids skipping: node scripts/system.ts test`),
      ),
    );
  return test(`${name}: ${title}`, { skip: `${name} is not installed` }, () => {});
}

function call(program: string, args: string[], input = ""): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { timeout: 60_000, killSignal: "SIGKILL" });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child
      .on("error", reject)
      .on("close", (code, signal) => resolve({ code: code ?? (signal === null ? 0 : 128), output }));
    child.stdin.on("error", () => {}).end(input);
  });
}

const server = (port: number) => [
  "--server",
  "127.0.0.1",
  "--port",
  String(port),
  "--helo",
  "client.example",
  "--from",
  "a@b.example",
  "--suppress-data",
];

withProgram("swaks", "a message in plaintext, with pipelining, and over STARTTLS", async (t, swaks) => {
  const { port, taken } = await listen(t, { tls: testCertificates() });
  for (const args of [[], ["--pipeline"], ["--tls"], ["--tls", "--pipeline"], ["--protocol", "SMTP"]]) {
    const { code, output } = await swaks(
      ...server(port),
      "--to",
      "b@here.example,c@here.example",
      "--body",
      ".\n..\nfrom swaks",
      ...args,
    );
    assert.equal(code, 0, output);
    assert.match(output, /250 2\.6\.0 Message accepted/);
    // RFC 2034: after the greeting and EHLO every reply has an enhanced code.
    for (const [answer] of output.matchAll(/^<[~*-]+ +(?:25[0-2]|[45]\d\d) (?!mx\.test).*/gm))
      assert.match(answer, /[245]\d\d (?:[245]\.\d+\.\d+ |SIZE)/);
  }
  assert.deepEqual(
    taken.map(({ envelope }) => [envelope.to.join(), envelope.tls !== undefined]),
    [false, false, true, true, false].map((tls) => ["b@here.example,c@here.example", tls]),
  );
  for (const { raw } of taken) assert.match(withoutReceived(raw), /\r\n\r\n\.\r\n\.\.\r\nfrom swaks\r\n/);
  assert.deepEqual(
    taken.map(({ raw }) => /with (\w+) id/.exec(raw)?.[1]),
    ["ESMTP", "ESMTP", "ESMTPS", "ESMTPS", "SMTP"],
  );
});

withProgram("swaks", "both PROXY versions, the null sender and an unknown recipient", async (t, swaks) => {
  const { port, taken } = await listen(t, {
    proxies: ["127.0.0.1"],
    checkRecipient: async (rcpt) =>
      rcpt.startsWith("no") ? { code: 550, enhanced: "5.1.1", text: "No such recipient" } : undefined,
  });
  for (const [version, family, source, dest] of [
    ["1", "TCP4", "192.0.2.7", "198.51.100.1"],
    ["2", "AF_INET", "192.0.2.8", "198.51.100.1"],
    ["1", "TCP6", "2001:db8::7", "2001:db8::1"],
  ] as const) {
    const { code, output } = await swaks(
      ...server(port),
      "--to",
      "b@here.example",
      "--proxy-version",
      version,
      "--proxy-family",
      family,
      "--proxy-source",
      source,
      "--proxy-source-port",
      "1234",
      "--proxy-dest",
      dest,
      "--proxy-dest-port",
      "25",
    );
    assert.equal(code, 0, output);
  }
  assert.deepEqual(
    taken.map(({ envelope }) => envelope.ip),
    ["192.0.2.7", "192.0.2.8", "2001:db8::7"],
  );
  const { code, output } = await swaks(
    ...server(port),
    "--from",
    "<>",
    "--to",
    "nobody@here.example,b@here.example",
    "--proxy",
    "TCP4 192.0.2.9 198.51.100.1 1 25",
    "--proxy-version",
    "1",
  );
  assert.match(output, /550 5\.1\.1 No such recipient/);
  assert.equal(code, 0, output);
  assert.deepEqual([taken[3]!.envelope.from, taken[3]!.envelope.to], ["", ["b@here.example"]]);
});

for (const method of ["PLAIN", "LOGIN"]) {
  withProgram("swaks", `submits with AUTH ${method}`, async (t, swaks) => {
    const sent: Envelope[] = [];
    const listener = await createSubmissionListener({
      host: "127.0.0.1",
      port: 0,
      name: "mx.test",
      tls: testCertificates(),
      spool: await newSpool(),
      clock,
      ids,
      log,
      authenticate: async (token) => (token === "a-token" ? "somebody" : undefined),
      async submit(_, envelope, source) {
        sent.push(envelope);
        await source.discard();
        return { code: 250, enhanced: "2.0.0", text: "Ok <id@b.example>" };
      },
    });
    t.after(() => listener.close());
    const submit = (token: string, ...more: string[]) =>
      swaks(
        ...server(listener.port),
        "--to",
        "x@y.example",
        "--tls-on-connect",
        "--auth",
        method,
        "--auth-user",
        "api_token",
        "--auth-password",
        token,
        ...more,
      );
    const { code, output } = await submit("a-token");
    assert.equal(code, 0, output);
    assert.match(output, /235 2\.7\.0 /);
    assert.match(output, /250 2\.0\.0 Ok <id@b\.example>/);
    const refused = await submit("another");
    assert.equal(refused.code, 28, "swaks: authentication failed");
    assert.match(refused.output, /535 5\.7\.8 /);
    assert.deepEqual(
      sent.map(({ to }) => to),
      [["x@y.example"]],
    );
  });
}

withProgram("smtp-source", "a thousand messages in twenty sessions, each with five recipients", async (t, source) => {
  const { port, taken } = await listen(t);
  const { code, output } = await source(
    "-s",
    "20",
    "-m",
    "1000",
    "-l",
    "5000",
    "-r",
    "5",
    "-f",
    "a@b.example",
    "-t",
    "r@here.example",
    `127.0.0.1:${port}`,
  );
  assert.equal(code, 0, output);
  assert.equal(taken.length, 1000);
  assert.ok(taken.every(({ envelope, raw }) => envelope.to.length === 5 && withoutReceived(raw).length >= 5000));
});

withProgram("smtp-source", "reused connections, as many sessions as connection slots", async (t, source) => {
  const { port, taken, listener } = await listen(t, { limits: { connections: 40 } });
  const { code, output } = await source(
    "-d",
    "-s",
    "40",
    "-m",
    "2000",
    "-l",
    "1000",
    "-f",
    "a@b.example",
    "-t",
    "r@here.example",
    `127.0.0.1:${port}`,
  );
  assert.equal(code, 0, output);
  assert.equal(taken.length, 2000);
  assert.ok(listener.connections <= 40);
});

withProgram(
  "posttls-finger",
  "STARTTLS with TLS 1.2 and 1.3 and a strong cipher; older versions are rejected",
  async (t, finger) => {
    const { port } = await listen(t, { tls: testCertificates() });
    for (const version of ["TLSv1.2", "TLSv1.3"]) {
      const { code, output } = await finger(
        "-c",
        "-l",
        "encrypt",
        "-g",
        "high",
        "-p",
        `!SSLv2,!SSLv3,!TLSv1,!TLSv1.1${version === "TLSv1.2" ? ",!TLSv1.3" : ",!TLSv1.2"}`,
        `[127.0.0.1]:${port}`,
      );
      assert.equal(code, 0, output);
      assert.match(
        output,
        new RegExp(`TLS connection established to \\S+: ${version.replace(".", "\\.")} with cipher`),
      );
    }
    const old = await finger("-c", "-l", "encrypt", "-p", "!TLSv1.2,!TLSv1.3", `[127.0.0.1]:${port}`);
    assert.doesNotMatch(old.output, /TLS connection established/);
  },
);

withProgram(
  "openssl",
  "s_client -starttls smtp gets the certificate of the requested name; TLS 1.1 is rejected",
  async (t) => {
    const { port } = await listen(t, { tls: testCertificates() });
    const client = (...args: string[]) =>
      call("openssl", ["s_client", "-starttls", "smtp", "-connect", `127.0.0.1:${port}`, "-crlf", ...args], "QUIT\n");
    for (const version of ["-tls1_2", "-tls1_3"]) {
      const { output } = await client(version, "-servername", "other.test");
      assert.match(output, /subject=CN = other\.test/);
      assert.match(output, /Cipher is (?!\(NONE\))/);
    }
    for (const version of ["-tls1", "-tls1_1"])
      assert.match((await client(version, "-cipher", "DEFAULT:@SECLEVEL=0")).output, /Cipher is \(NONE\)/);
  },
);
