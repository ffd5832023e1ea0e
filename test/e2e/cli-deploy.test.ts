import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { folderWith, runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { freePort } from "../support/free-ports.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";
import { programEntry } from "../support/program.ts";

const SOURCE = `
export default {
  async fetch(request: Request, env: any): Promise<Response> {
    const { pathname } = new URL(request.url);
    console.log("asked for", pathname);
    if (pathname === "/boom") throw new TypeError("on purpose");
    const row = await env.DB.prepare("SELECT count(*) AS n FROM mail").first();
    return Response.json({ greeting: env.GREETING, key: env.API_KEY ?? null, note: await env.NOTES.get("greeting"), file: await (await env.FILES.get("a b/c.txt"))?.text(), mails: row.n });
  },
  async scheduled() {},
};
`;

describe("the command line against a server: each step builds on the one before", () => {
  const scope = createScope();
  let server: ServeProcess;
  let cwd: string;
  let data: string;
  let port: string;
  let environment: Record<string, string>;
  const run = async (args: string[], options: { stdin?: string } = {}): Promise<CliResult> => {
    const ran = await runCli(args, { cwd, env: { ...environment, REELPOST_API_RATE_LIMIT: "0" }, ...options });
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const response = async () =>
    (await fetch(`${server.ready.url}/workers/letters/`)).json() as Promise<Record<string, unknown>>;

  before(async () => {
    data = await temporaryFolder(scope);
    // The server is restarted on this port.
    port = String(await freePort());
    server = await spawnServe(scope, { dataDirectory: data, args: ["--port", port] });
    cwd = await folderWith(scope, { "src/index.ts": SOURCE, "greeting.txt": "hello from a file" });
    environment = {};
  });
  after(() => scope.close());

  test("login stores the token, and whoami shows its account", async () => {
    await run(["login", "--url", server.ready.url, "--token", server.ready.token!]);
    const { json } = await run(["whoami", "--json"]);
    assert.deepEqual(
      [json.url, json.accounts.map(({ id }: { id: string }) => id)],
      [`${server.ready.url}/client/v4`, [server.ready.account!.id]],
    );
  });

  test("storage is created, bound and filled", async () => {
    const kv = (await run(["kv", "namespace", "create", "notes", "--json"])).json.id as string;
    const d1 = (await run(["d1", "create", "letters", "--json"])).json.uuid as string;
    await run(["r2", "bucket", "create", "letter-files"]);
    await writeFile(
      join(cwd, "wrangler.json"),
      JSON.stringify({
        name: "letters",
        main: "src/index.ts",
        compatibility_date: "2026-10-01",
        vars: { GREETING: "hi" },
        kv_namespaces: [{ binding: "NOTES", id: kv }],
        r2_buckets: [{ binding: "FILES", bucket_name: "letter-files" }],
        d1_databases: [{ binding: "DB", database_name: "letters", database_id: d1 }],
        triggers: { crons: ["0 3 * * *"] },
      }),
    );
    await run(["kv", "key", "put", "greeting", "good day", "-b", "NOTES"]);
    await run(["r2", "object", "put", "letter-files/a b/c.txt", "--file", "greeting.txt"]);
    const { file } = (await run(["d1", "migrations", "create", "DB", "mail", "--json"])).json as { file: string };
    await writeFile(join(cwd, file), "CREATE TABLE mail (sender TEXT); -- the end");
    await run(["d1", "migrations", "apply", "DB", "--yes"]);
    await writeFile(join(cwd, "rows.sql"), "INSERT INTO mail VALUES ('ada');\nINSERT INTO mail VALUES ('bob');\n");
    assert.equal(
      (await run(["d1", "execute", "letters", "--file", "rows.sql", "--yes", "--json"])).json.num_queries,
      2,
    );
    assert.match((await run(["d1", "export", "letters"])).stdout, /INSERT INTO "?mail"?.*'bob'/);
    await run(["r2", "object", "get", "letter-files/a b/c.txt", "--file", "back.txt"]);
    assert.equal(await readFile(join(cwd, "back.txt"), "utf8"), "hello from a file");
    assert.deepEqual((await run(["kv", "key", "list", "-b", "NOTES", "--json"])).json, [{ name: "greeting" }]);
  });

  test("a deployed worker responds with its bindings, and a secret is available immediately and kept by the next deployment", async () => {
    const first = (await run(["deploy", "--message", "first", "--json"])).json;
    assert.deepEqual([first.first, first.crons], [true, ["0 3 * * *"]]);
    assert.deepEqual(await response(), {
      greeting: "hi",
      key: null,
      note: "good day",
      file: "hello from a file",
      mails: 2,
    });
    await run(["secret", "put", "API_KEY"], { stdin: "s3cret\n" });
    assert.equal((await response())["key"], "s3cret");
    const second = (await run(["deploy", "--var", "GREETING:hello", "--json"])).json;
    assert.deepEqual(
      [second.first, (await response())["greeting"], (await response())["key"]],
      [false, "hello", "s3cret"],
    );
    assert.equal((await run(["deployments", "status", "--json"])).json.versions[0].version_id, second.version_id);
  });

  test("an uploaded version is not live until it is deployed, and rollback restores the previous one", async () => {
    const live = (await response())["greeting"];
    const { version_id: id } = (await run(["versions", "upload", "--var", "GREETING:later", "--json"])).json;
    assert.equal((await response())["greeting"], live);
    await run(["rollback", id, "--yes"]);
    assert.equal((await response())["greeting"], "later");
    await run(["rollback", "--yes"]);
    assert.equal((await response())["greeting"], live);
    assert.deepEqual(
      (await run(["versions", "list", "--json"])).json.map(({ number }: { number: number }) => number),
      [4, 3, 2, 1],
    );
    assert.match((await run(["versions", "view", id])).stdout, /env\.GREETING {2}variable +"later"/);
  });

  test(
    "tail shows failures, reconnects after a server restart, and leaves nothing behind",
    { timeout: 240_000 },
    async () => {
      const tail = spawn(process.execPath, [programEntry, "tail", "--status", "error", "--json"], {
        cwd,
        env: { PATH: process.env["PATH"], HOME: cwd, NO_COLOR: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      scope.after(async () => void tail.kill("SIGKILL"));
      const [records, notices] = [tail.stdout, tail.stderr].map((stream) =>
        createInterface({ input: stream })[Symbol.asyncIterator](),
      );
      const next = async (lines: AsyncIterator<string> | undefined) => (await lines!.next()).value as string;
      assert.equal(await next(notices), "connected to letters; press Ctrl-C to stop");
      const boom = async () => {
        await fetch(`${server.ready.url}/workers/letters/fine`);
        await fetch(`${server.ready.url}/workers/letters/boom`);
        const record = JSON.parse(await next(records));
        assert.deepEqual(
          [record.outcome, record.exceptions[0].message, record.logs[0].message],
          ["exception", "on purpose", ["asked for", "/boom"]],
        );
        assert.match(record.exceptions[0].stack, /src\/index\.ts:6/);
      };
      await boom();
      await server.stop();
      assert.match(await next(notices), /; retrying in 1 s$/);
      server = await spawnServe(scope, { dataDirectory: data, args: ["--port", port] });
      let notice = "";
      while (!notice.startsWith("connected")) notice = await next(notices);
      await boom();
      tail.kill("SIGINT");
      assert.deepEqual(await once(tail, "exit"), [0, null]);
    },
  );

  test("a deleted worker no longer responds", async () => {
    await run(["delete", "--yes"]);
    assert.equal((await fetch(`${server.ready.url}/workers/letters/`)).status, 404);
    const refused = await runCli(["tail", "--json"], { cwd });
    assert.deepEqual([refused.code, refused.json.error.code], [1, 10007]);
    await run(["kv", "namespace", "delete", "-b", "NOTES", "--yes"]);
    await run(["d1", "delete", "DB", "--yes"]);
    await run(["r2", "object", "delete", "letter-files/a b/c.txt"]);
    await run(["r2", "bucket", "delete", "letter-files", "--yes"]);
    assert.deepEqual(
      [
        (await run(["kv", "namespace", "list", "--json"])).json,
        (await run(["d1", "list", "--json"])).json,
        (await run(["r2", "bucket", "list", "--json"])).json,
      ],
      [[], [], []],
    );
  });

  test("a deployment token is created, used and revoked", async () => {
    const made = (await run(["token", "create", "ci", "--json"])).json as { id: string; value: string };
    const asCi = { cwd, env: { API_BASE_URL: server.ready.url, API_TOKEN: made.value } };
    assert.deepEqual((await runCli(["kv", "namespace", "list", "--json"], asCi)).json, []);
    const limited = await runCli(["token", "list", "--json"], asCi);
    assert.equal(limited.code, 1);
    await run(["token", "revoke", made.id, "--yes"]);
    const revoked = await runCli(["whoami"], asCi);
    assert.equal(revoked.code, 1);
    assert.match(
      revoked.stderr,
      /^error: .*\[code: 1\d+\]\nfix: Run `reelpost login`, or set API_TOKEN to a valid token/,
    );
  });
});
