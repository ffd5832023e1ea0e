import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { createTransport } from "nodemailer";
import { runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { startSink } from "../../src/mail/outbound/outbound.testing.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";
import { programEntry } from "../support/program.ts";

/** Replies that the next hop sends for each recipient; if empty, it accepts every recipient. */
const answers = new Map<string, string>();
// Started here so that it is stopped with its enclosing scope.
const sink = await startSink({ rcpt: (to) => answers.get(to) });

describe("the command line sends mail and shows the status of all mail: each step builds on the one before", () => {
  const scope = createScope();
  let server: ServeProcess;
  let data: string;
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { cwd: data, env: { API_BASE_URL: `${server.ready.url}/client/v4`, API_TOKEN: server.ready.token! } });
  const run = async (...args: string[]): Promise<CliResult> => {
    const ran = await cli(...args);
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const send = (...args: string[]) =>
    run("email", "sending", "send", "--from", "news@example.com", "--subject", "News", "--text", "Hi", ...args);

  before(async () => {
    data = await temporaryFolder(scope);
    server = await spawnServe(scope, {
      dataDirectory: data,
      env: {
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
        REELPOST_AUTHENTICATION_TRUSTED: "192.0.2.1",
      },
    });
    await run("zone", "create", "example.com");
    for (const [name, spf] of [
      ["example.org", "v=spf1 ip4:127.0.0.1 -all"],
      ["forged.example", "v=spf1 -all"],
    ] as const) {
      const { json: zone } = await run("zone", "create", name, "--json");
      // Both records are created so that this machine's resolvers are not queried.
      for (const record of [
        { name, content: `"${spf}"` },
        { name: `_dmarc.${name}`, content: '"v=DMARC1; p=reject"' },
      ]) {
        const made = await fetch(`${server.ready.api}/zones/${zone.id}/dns_records`, {
          method: "POST",
          headers: { authorization: `Bearer ${server.ready.token}` },
          body: JSON.stringify({ type: "TXT", ttl: 300, ...record }),
        });
        assert.equal(made.status, 200);
      }
    }
  });
  after(() => scope.close());

  test("a sending domain has its records and is listed in the account", async () => {
    assert.match(
      (await cli("email", "sending", "settings", "example.com")).stderr,
      /Email Sending is not enabled for example\.com\.\nfix: Run `reelpost email sending enable example\.com` first\./,
    );
    assert.match(
      (
        await cli(
          "email",
          "sending",
          "send",
          "--from",
          "news@example.com",
          "--to",
          "a@example.net",
          "--subject",
          "x",
          "--text",
          "x",
        )
      ).stderr,
      /sender_not_configured/,
    );
    assert.match(
      (await run("email", "sending", "enable", "example.com")).stdout,
      /domain +example\.com\n.*\nenabled +yes/,
    );
    await run("email", "sending", "enable", "news.example.com");
    for (const list of [
      ["email", "sending", "list"],
      ["email", "sending", "list", "example.com"],
    ])
      assert.match((await run(...list)).stdout, /^example\.com +yes/m);
    assert.match(
      (await run("email", "sending", "settings", "news.example.com")).stdout,
      /return path +\S+\.news\.example\.com/,
    );
    assert.match(
      (await run("email", "sending", "dns", "get", "example.com")).stdout,
      /TXT +\S+\._domainkey\.example\.com +v=DKIM1/,
    );
    await run("email", "sending", "disable", "news.example.com", "--yes");
    assert.equal((await run("email", "sending", "list", "example.com", "--json")).json.length, 1);
  });

  test("sends a message built from options with an attachment, and a message read from a file", async () => {
    await writeFile(join(data, "table.csv"), "a,b\n1,2\n");
    const { stdout } = await send(
      "--from-name",
      "The News",
      "--to",
      "a@example.net",
      "--cc",
      "b@example.net",
      "--header",
      "X-Edition: 7",
      "--attachment",
      "table.csv",
    );
    assert.match(stdout, /^message +<\S+@example\.com>\ndelivered +a@example\.net, b@example\.net\n$/);
    // Each recipient has a unique return path and therefore a separate transaction.
    const mails = sink.mails.splice(0);
    assert.deepEqual(
      mails.map(({ to }) => to),
      [["a@example.net"], ["b@example.net"]],
    );
    const [mail] = mails;
    for (const field of [
      /^From: "?The News"? <news@example\.com>$/m,
      /^X-Edition: 7$/m,
      /^DKIM-Signature: .*d=example\.com/m,
      /filename="?table\.csv/,
    ])
      assert.match(mail!.raw.replaceAll("\r", "").replaceAll(/\n[ \t]+/g, " "), field);

    await writeFile(
      join(data, "letter.eml"),
      "From: news@example.com\r\nTo: a@example.net\r\nSubject: Written\r\nMessage-ID: <1@example.com>\r\n\r\nHi\r\n",
    );
    assert.match(
      (
        await run(
          "email",
          "sending",
          "send-raw",
          "--from",
          "news@example.com",
          "--to",
          "c@example.net",
          "--mime-file",
          "letter.eml",
        )
      ).stdout,
      /delivered +c@example\.net/,
    );
    assert.match(sink.mails.splice(0)[0]!.raw, /^Subject: Written\r$/m);
  });

  test("no mail is sent to an address on the suppression list until it is removed", async () => {
    assert.match(
      (await run("email", "sending", "suppressions", "create", "gone@example.net", "--days", "7", "--note", "moved"))
        .stdout,
      /gone@example\.net is suppressed/,
    );
    const [listed] = (await run("email", "sending", "suppressions", "list", "--search", "gone@example.net", "--json"))
      .json;
    assert.deepEqual([listed.email, listed.reason, listed.note], ["gone@example.net", "manual", "moved"]);
    assert.match(
      (await run("email", "sending", "suppressions", "list")).stdout,
      /^gone@example\.net +manual +\S+ \S+ UTC +\S+ \S+ UTC +account/m,
    );
    assert.match(
      (
        await cli(
          "email",
          "sending",
          "send",
          "--from",
          "news@example.com",
          "--to",
          "gone@example.net",
          "--subject",
          "x",
          "--text",
          "x",
        )
      ).stderr,
      /suppressed/i,
    );
    assert.equal(sink.mails.length, 0);
    await run("email", "sending", "suppressions", "delete", listed.id, "--yes");
    assert.match((await send("--to", "gone@example.net")).stdout, /delivered +gone@example\.net/);
  });

  test("deferred mail is listed, cancelled and retried in the queue", async () => {
    answers.set("later@example.net", "451 4.7.1 come back later");
    assert.match((await send("--to", "later@example.net")).stdout, /queued +later@example\.net/);
    const { stdout } = await run("email", "queue", "list");
    assert.match(stdout, /later@example\.net +(deferred|queued) +\d+ .*451 4\.7\.1 come back later/);
    const [{ id }] = (await run("email", "queue", "list", "--domain", "example.net", "--json")).json;
    assert.equal((await cli("email", "queue", "cancel", id)).code, 1);
    assert.match((await run("email", "queue", "cancel", id, "--yes")).stdout, /later@example\.net +failed/);
    assert.match((await run("email", "queue", "list", "--state", "failed")).stdout, new RegExp(`^${id} `, "m"));
    assert.match(
      (await run("email", "log", "--status", "deliveryFailed")).stdout,
      /later@example\.net +delivery failed: /,
    );

    answers.clear();
    sink.mails.length = 0;
    await run("email", "queue", "resend", id);
    for (
      const start = performance.now();
      (await run("email", "queue", "get", id, "--json")).json.recipients[0].state !== "delivered" &&
      performance.now() - start < 60_000;
    )
      await new Promise((resolve) => void setTimeout(resolve, 50));
    assert.match((await run("email", "queue", "get", id)).stdout, /\n\nto .*\nlater@example\.net +delivered +\d/);
    assert.deepEqual(
      sink.mails.map(({ to }) => to),
      [["later@example.net"]],
    );
    assert.equal((await run("email", "queue", "list")).stdout, "No messages.\n");
    assert.match((await cli("email", "queue", "get", "0".repeat(32))).stderr, /^error: /);
  });

  test("the log shows incoming mail with its authentication results and whether it was forwarded", async () => {
    await run("email", "routing", "enable", "example.com");
    await run(
      "email",
      "routing",
      "rules",
      "create",
      "example.com",
      "--match-value",
      "bin@example.com",
      "--action-type",
      "drop",
    );
    const { host, port } = server.ready.smtp!;
    const transport = createTransport({ host, port, secure: false, ignoreTLS: true });
    const mail = (from: string, to: string) => transport.sendMail({ from, to, subject: "Notes", text: "Hi" });
    await mail("ada@example.org", "bin@example.com");
    await assert.rejects(mail("ada@example.org", "nobody@example.com"), { responseCode: 550 });
    await assert.rejects(mail("eve@forged.example", "bin@example.com"), { responseCode: 550 });
    transport.close();
    const { stdout } = await run("email", "log", "--zone", "example.com", "--kind", "routing");
    assert.match(stdout, /^time \(UTC\) +from +to +result +spf\/dkim\/dmarc +message +subject\n/);
    assert.match(
      stdout,
      /^\S+ \S+ +eve@forged\.example +bin@example\.com +rejected: 550 5\.7\.\d+ .* {2}fail\/none\/\w+ +[0-9a-f]{12} +Notes$/m,
    );
    assert.match(stdout, /^\S+ \S+ +ada@example\.org +nobody@example\.com +rejected: 550 5\.1\.1 /m);
    assert.match(
      stdout,
      /^\S+ \S+ +ada@example\.org +bin@example\.com +dropped +pass\/none\/\w+ +[0-9a-f]{12} +Notes$/m,
    );
    const [entry] = (await run("email", "log", "--from", "eve@forged.example", "--json")).json;
    const details = (await run("email", "log", "get", entry.session_id)).stdout;
    assert.match(
      details,
      /from +eve@forged\.example\nto +bin@example\.com\nsubject +Notes\n[^]*\nreason +550 5\.7\.\d+ /,
    );
    assert.match(details, /\n\S+ \S+ +received +ip=127\.0\.0\.1 [^]*\n\S+ \S+ +authenticated +spf=fail /);
    assert.equal((await run("email", "log", "--until", "1h", "--json")).json.length, 0);
    assert.match((await cli("email", "log", "--since", "yesterday")).stderr, /fix: Use a duration such as/);
  });

  test("the log is followed until Ctrl-C", async () => {
    const child = spawn(
      process.execPath,
      [programEntry, "email", "log", "--follow", "--json", "--limit", "1", "--to", "follow@example.net"],
      {
        cwd: data,
        env: { PATH: process.env.PATH, HOME: data, API_BASE_URL: server.ready.api, API_TOKEN: server.ready.token! },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    scope.after(() => void child.kill("SIGKILL"));
    const ended = once(child, "close");
    // The server may report it as sent before the message arrives.
    const delivered = new Promise<string>(
      (resolve) =>
        void createInterface({ input: child.stdout! }).on("line", (line) =>
          JSON.parse(line).status === "delivered" ? resolve(JSON.parse(line).to) : undefined,
        ),
    );
    await send("--to", "follow@example.net");
    assert.equal(await delivered, "follow@example.net");
    child.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
  });

  test("the doctor reports missing public DNS records and settings", async () => {
    const well = await run("doctor", "example.com");
    assert.match(
      well.stdout,
      /^ok +Email Routing: enabled\nok +MX route1\.[^]*\n\n0 errors, \d+ warnings, \d+ passed\n$/m,
    );
    const { code, stdout } = await cli("doctor", "forged.example");
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^error +Email Routing: disabled\n +fix: Run `reelpost email routing enable forged\.example`\.$/m,
    );
  });
});
