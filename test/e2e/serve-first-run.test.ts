import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { UserError } from "../../src/kernel/index.ts";
import { startServe } from "../../src/server/index.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { sendHttpRequest, createApi, servePlatform, TOKEN, type Scope } from "./serve-client.ts";
import { FREE_PORTS } from "../support/free-ports.ts";

const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");
const longToken = "a".repeat(32);
const secretsKey = randomBytes(32).toString("base64");
const isStartupError = (kind: string, about: RegExp) => (err: UserError) =>
  err.kind === kind && about.test(`${err.message} ${err.fix}`);

/** Settings with free ports and without a token, so that the server creates one. */
const unset = (dataDir: string, env: Record<string, string> = {}) => ({
  dataDir,
  env: { REELPOST_API_TOKEN: "", ...env },
});

/** Runs a command that is expected to exit without being stopped. */
function run(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, "serve", ...args],
      { timeout: 110_000, env: { ...process.env, NO_COLOR: "1", ...FREE_PORTS, ...env } },
      (err, stdout, stderr) => resolve({ code: err === null ? 0 : (err.code as number), stdout, stderr }),
    );
  });
}

/** Uses a sign-in link at the dashboard. */
async function signIn(dashboard: string, link: string): Promise<{ id: string; secret: string; user: string }> {
  const response = await fetch(`${dashboard}/auth/link`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ link }),
  });
  const { result } = (await response.json()) as {
    result: { session: { id: string; secret: string }; user: { id: string } };
  };
  return { ...result.session, user: result.user.id };
}

describe("the first start", { concurrency: 2 }, () => {
  test("creates an account, prints its token once, and creates another token on request", async (t) => {
    const dataDirectory = await temporaryFolder(t);
    const first = await spawnServe(t, { dataDirectory });
    const { token, account, url, api: base, smtp, dashboard, signInLink, ...ready } = first.ready;
    assert.match(token!, /^[\w-]{40}$/);
    assert.match(account!.id, /^[0-9a-f]{32}$/);
    assert.equal(base, `${url}/client/v4`);
    assert.ok(smtp!.port > 0);
    assert.equal(ready.dataDirectory, dataDirectory);
    assert.match((ready as unknown as { workers: string }).workers, /^http:\/\/<worker>\.main\.localhost:\d+$/);
    const api = createApi(first.ready, token!);
    assert.equal((await api.ok("get", "/user/tokens/verify")).status, "active");
    assert.deepEqual(
      (await api.ok("get", "/accounts")).map(({ id, name }: { id: string; name: string }) => [id, name]),
      [[account!.id, "Main"]],
    );
    const [, link] = new RegExp(`^${dashboard}/sign-in#link=([\\w-]{40})$`).exec(signInLink!)!;
    const session = await signIn(dashboard!, link!);
    const bySession = createApi(first.ready, session.secret);
    assert.equal((await bySession.ok("get", "/user/sessions"))[0].id, session.id);
    assert.equal((await api.ok("get", "/user/sessions"))[0].method, "link");
    assert.equal((await stat(join(dataDirectory, "secrets.key"))).mode & 0o777, 0o600);
    assert.deepEqual(await first.stop(), { code: 0, signal: null });
    assert.equal(first.log().includes(token!), false, "the token is not in the log");
    // The data directory does not contain the token either: a copy of it gives no access.
    for (const file of ["reelpost.sqlite", "secrets.key"])
      assert.equal((await readFile(join(dataDirectory, file))).includes(token!), false, file);

    const second = await spawnServe(t, { dataDirectory, args: ["--new-token"] });
    assert.equal(second.ready.account!.id, account!.id);
    assert.equal(second.ready.signInLink, undefined);
    assert.equal((await createApi(second.ready, session.secret).ok("get", "/user")).id, session.user);
    assert.match(second.ready.token!, /^[\w-]{40}$/);
    assert.notEqual(second.ready.token, token);
    for (const each of [token!, second.ready.token!])
      assert.equal((await createApi(second.ready, each).ok("get", "/user/tokens/verify")).status, "active");
    await second.stop();

    const third = await servePlatform(t, unset(dataDirectory));
    assert.equal(third.token, undefined);
    assert.equal((await createApi(third, token!).ok("get", "/user/tokens/verify")).status, "active");
  });

  test("prints all URLs and how to use the token in readable form", async (t) => {
    const dataDirectory = await temporaryFolder(t);
    const people = execFile(
      process.execPath,
      [main, "serve", "--data-dir", dataDirectory, "--port", "0", "--smtp-port", "0"],
      { env: { ...process.env, NO_COLOR: "1", ...FREE_PORTS } },
    );
    let words = "";
    people.stdout!.on("data", (chunk: string) => (words += chunk));
    while (!words.includes("CLOUDFLARE_ACCOUNT_ID")) await once(people.stdout!, "data");
    people.kill("SIGINT");
    assert.deepEqual(await once(people, "close"), [0, null]);
    assert.match(words, /^Reelpost \S+ serves api, workers, smtp, outbound, dns, encode, live, playback\n/);
    for (const row of [
      /Dashboard +http:\/\/localhost:\d+\n/,
      /API +http:\/\/127\.0\.0\.1:\d+\/client\/v4\n/,
      /API docs +http\S+\/docs\n/,
      /Workers +http:\/\/<worker>\.main\.localhost:\d+\n +http:\S+\/workers\/<worker>\/\n/,
      /SMTP +127\.0\.0\.1:\d+ +for <worker>@main\.localhost\n/,
      /Health +\S+\/healthz/,
      new RegExp(`Data +${dataDirectory}\n`),
      /Account +[0-9a-f]{32} +Main\n/,
      /Sign in to the dashboard .*\n\n +http:\/\/localhost:\d+\/sign-in#link=[\w-]{40}\n/,
      /shown only once/,
      /export CLOUDFLARE_API_TOKEN=[\w-]{40}\n/,
    ])
      assert.match(words, row);
  });

  test("uses the token chosen by the operator and does not print it", async (t) => {
    const server = await servePlatform(t);
    assert.equal(server.token, undefined);
    assert.equal((await createApi(server, TOKEN).ok("get", "/user/tokens/verify")).status, "active");
    assert.deepEqual(await createApi(server, "x".repeat(40)).refused("get", "/user/tokens/verify"), [401, 1000]);
    const named = await servePlatform(t, {
      env: {
        REELPOST_API_ACCOUNT_NAME: "Änne & Co. KG",
        REELPOST_API_EMAIL: "ann@example.com",
        REELPOST_WORKERS_DOMAIN: "workers.example.com",
        REELPOST_HTTP_PUBLIC_URL: "https://api.example.com/",
      },
    });
    const api = createApi(named, TOKEN);
    // The printed URLs point to the proxy at the public address, which this test does not use.
    assert.equal(named.api, "https://api.example.com/client/v4");
    assert.equal(named.workersUrl, "https://<worker>.anne-co-kg.workers.example.com");
    assert.equal(named.workersMail, "<worker>@anne-co-kg.workers.example.com");
    assert.equal(api.account, named.account!.id);
  });
});

describe("a server that cannot start", { concurrency: 2 }, () => {
  const open = (more: Record<string, string>) => ({ REELPOST_HTTP_HOST: "0.0.0.0", ...more });
  const refusals: [string, Record<string, string>, string, RegExp][] = [
    [
      "a public address without a secrets key",
      open({ REELPOST_API_TOKEN: longToken }),
      "openToOthers",
      /Other machines can reach 0\.0\.0\.0.*key.*REELPOST_SECRETS_KEY/,
    ],
    [
      "a public address without a token",
      open({ REELPOST_SECRETS_KEY: secretsKey, REELPOST_API_TOKEN: "" }),
      "openToOthers",
      /no API token.*REELPOST_API_TOKEN/,
    ],
    [
      "a public address with a short token",
      open({ REELPOST_SECRETS_KEY: secretsKey, REELPOST_API_TOKEN: "short-but-over-twenty-ch" }),
      "openToOthers",
      /fewer than 32/,
    ],
    ["a public address for SMTP only", { REELPOST_SMTP_HOST: "0.0.0.0" }, "openToOthers", /0\.0\.0\.0/],
    [
      "a token with characters that a header cannot contain",
      { REELPOST_API_TOKEN: "two words and more of them" },
      "weakToken",
      /./,
    ],
    ["a secrets key of the wrong length", { REELPOST_SECRETS_KEY: "bm8=" }, "badKeyFile", /REELPOST_SECRETS_KEY/],
    [
      "a secrets key configured twice",
      { REELPOST_SECRETS_KEY: secretsKey, REELPOST_SECRETS_KEY_FILE: "/etc/key" },
      "secretsKeyTwice",
      /./,
    ],
    [
      "an address that this machine does not have",
      { REELPOST_HTTP_HOST: "192.0.2.1", REELPOST_SECRETS_KEY: secretsKey, REELPOST_API_TOKEN: longToken },
      "hostUnknown",
      /192\.0\.2\.1/,
    ],
  ];
  for (const [what, env, kind, about] of refusals) {
    test(what, async (t) => {
      await assert.rejects(servePlatform(t, { env }), isStartupError(kind, about));
    });
  }

  test("has a role that does not exist, or separate roles without a shared database", async (t) => {
    await assert.rejects(
      servePlatform(t, { roles: ["api", "video"] }),
      isStartupError("unknownRole", /"video".*api, workers, smtp, outbound, dns, encode, live, playback/),
    );
    for (const roles of [["api"], ["workers"], ["smtp"]])
      await assert.rejects(servePlatform(t, { roles }), isStartupError("rolesApart", /database\.url/));
    const server = await servePlatform(t, { roles: ["api", "workers"] });
    assert.deepEqual([server.roles, server.smtp, server.workersMail], [["api", "workers"], undefined, undefined]);
  });

  test("fails if its port is in use, and releases everything", async (t) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    t.after(async () => void other.close());
    const { port } = other.address() as AddressInfo;
    const dataDir = await temporaryFolder(t);
    for (const variable of ["REELPOST_HTTP_PORT", "REELPOST_SMTP_PORT"]) {
      await assert.rejects(
        servePlatform(t, { dataDir, env: { [variable]: String(port) } }),
        isStartupError("portBusy", new RegExp(`${port}`)),
        variable,
      );
    }
    // Would fail if the first servers still held the lock or the HTTP port.
    assert.equal((await sendHttpRequest(await servePlatform(t, { dataDir }), "/healthz")).status, 200);
  });

  test("has a data directory that is in use", async (t) => {
    const { dataDir } = await servePlatform(t);
    await assert.rejects(
      servePlatform(t, { dataDir }),
      isStartupError("dataDirectoryBusy", new RegExp(`process ${process.pid}.*--data-dir`)),
    );
    const { code, stdout } = await run(["--json", "--data-dir", dataDir, "--port", "0", "--smtp-port", "0"]);
    assert.equal(code, 1);
    assert.equal(JSON.parse(stdout).error.code, "data_directory_busy");
  });

  test("reports all invalid settings with file and line, and exits with the code for a usage error", async (t) => {
    const folder = await temporaryFolder(t);
    const file = join(folder, "settings.jsonc");
    await writeFile(
      file,
      `{\n  // ports\n  "http": { "port": 99999, "hots": "::" },\n  "workers": { "heap_mb": "much" }\n}\n`,
    );
    const { code, stderr, stdout } = await run(["--settings", file], {
      REELPOST_SMTP_PORT: "mail",
      REELPOST_DATA_DIR: join(folder, "data"),
    });
    assert.deepEqual([code, stdout], [1, ""]);
    for (const part of [/settings\.jsonc:3:\d+/, /settings\.jsonc:4:\d+/, /REELPOST_SMTP_PORT/, /hots/, /host/])
      assert.match(stderr, part);
    await assert.rejects(stat(join(folder, "data")), { code: "ENOENT" }, "no data directory was created");
    await assert.rejects(
      startServe({ cwd: folder, env: {}, settingsFile: "none.jsonc", version: "0" }),
      isStartupError("unreadable", /none\.jsonc/),
    );
  });

  test("has a data directory that is not a directory", async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, "file"), "");
    const { code, stderr } = await run(["--data-dir", join(folder, "file"), "--port", "0", "--smtp-port", "0"]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: Cannot use the data directory \S+file: .*\nfix: /s);
  });
});

describe("a server reachable from other machines", () => {
  const openFor = (t: Scope, dataDir: string, env: Record<string, string> = {}) =>
    servePlatform(t, {
      dataDir,
      env: { REELPOST_HTTP_HOST: "0.0.0.0", REELPOST_SMTP_HOST: "0.0.0.0", REELPOST_SECRETS_KEY: secretsKey, ...env },
    });

  test("starts with its own key and token, and without the token on later starts", async (t) => {
    const dataDir = await temporaryFolder(t);
    const first = await openFor(t, dataDir, { REELPOST_API_TOKEN: longToken });
    assert.match(first.url, /^http:\/\/localhost:\d+$/);
    const local = {
      ...first,
      url: first.url.replace("localhost", "127.0.0.1"),
      api: first.api!.replace("localhost", "127.0.0.1"),
    };
    assert.equal((await createApi(local, longToken).ok("get", "/user/tokens/verify")).status, "active");
    await assert.rejects(stat(join(dataDir, "secrets.key")), { code: "ENOENT" }, "the key is not stored with the data");
    await first.close();
    const second = await openFor(t, dataDir, { REELPOST_API_TOKEN: "" });
    assert.equal(second.token, undefined);
    await second.close();
  });
});
