import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { createScope, makeProject, serve, spawnDev, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/write") {
      await env.NOTES.put("from-worker", "w");
      await env.FREE.put("k", "v");
      await env.OTHER.exec("CREATE TABLE IF NOT EXISTS t (a)");
    }
    const row = await env.DB.prepare("SELECT group_concat(name) AS names FROM users").first();
    const object = await env.FILES.get("a b/c.bin");
    return Response.json({
      note: await env.NOTES.getWithMetadata("greeting"),
      object: object && { size: object.size, type: object.httpMetadata.contentType },
      names: row.names,
    });
  },
};
`;
const config = {
  name: "letters",
  kv_namespaces: [{ binding: "NOTES", id: "notes", preview_id: "notes-preview" }, { binding: "FREE" }],
  r2_buckets: [{ binding: "FILES" }],
  d1_databases: [{ binding: "DB", database_name: "letters", database_id: "prod" }, { binding: "OTHER" }],
};

/** The commands and the worker use the storage of the same project. */
describe("commands with --local", () => {
  const scope = createScope();
  let cwd = "";
  const attempt = (args: string[], options: { stdin?: string } = {}) =>
    runCli([...args, "--local"], { cwd, ...options });
  const run = async (args: string[], options: { stdin?: string } = {}): Promise<CliResult> => {
    const ran = await attempt(args, options);
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const bytes = randomBytes(300_000);
  before(async () => {
    cwd = await makeProject(
      scope,
      { "src/index.ts": WORKER, "migrations/0001_users.sql": "CREATE TABLE users (name TEXT PRIMARY KEY);" },
      config,
    );
    await writeFile(join(cwd, "in.bin"), bytes);
    await writeFile(join(cwd, "seed.sql"), "INSERT INTO users VALUES ('ada');\nINSERT INTO users VALUES ('grace');");
  });
  after(scope.close);

  const storageTests = () => {
    it("write, read, list and delete KV keys, individually and in bulk", async () => {
      await run(["kv", "key", "put", "greeting", "hello", "-b", "NOTES", "--metadata", '{"by":"ada"}']);
      assert.equal((await run(["kv", "key", "get", "greeting", "-b", "NOTES"])).stdout, "hello");
      await run(["kv", "bulk", "put", "-", "-b", "NOTES"], {
        stdin: '[{"key":"old/1","value":"1"},{"key":"old/2","value":"2"}]',
      });
      const { json } = await run(["kv", "key", "list", "-b", "NOTES", "--prefix", "old/", "--json"]);
      assert.deepEqual(json, [{ name: "old/1" }, { name: "old/2" }]);
      await run(["kv", "bulk", "delete", "-", "-b", "NOTES", "--yes"], { stdin: '["old/1"]' });
      await run(["kv", "key", "delete", "old/2", "-b", "NOTES"]);
      assert.deepEqual((await run(["kv", "key", "list", "-b", "NOTES", "--prefix", "old/", "--json"])).json, []);
    });

    it("write, read and delete R2 objects in a bucket that is specified by its binding or by its name", async () => {
      await run(["r2", "object", "put", "FILES/a b/c.bin", "--file", "in.bin", "--content-type", "image/png"]);
      await run(["r2", "object", "get", "letters-files/a b/c.bin", "--file", "out.bin"]);
      assert.ok((await readFile(join(cwd, "out.bin"))).equals(bytes));
      await run(["r2", "object", "put", "FILES/gone", "--file", "in.bin"]);
      await run(["r2", "object", "delete", "FILES/gone"]);
      const missing = await attempt(["r2", "object", "get", "FILES/gone", "--file", "gone"]);
      assert.match(missing.stderr, /The specified key does not exist/);
    });

    it("apply migrations, run a file, query and export a D1 database", async () => {
      await run(["d1", "execute", "DB", "--command", "DROP TABLE IF EXISTS users; DROP TABLE IF EXISTS d1_migrations"]);
      assert.equal((await run(["d1", "migrations", "list", "DB"])).stdout, "0001_users.sql\n");
      assert.equal((await run(["d1", "migrations", "apply", "DB", "--yes"])).stdout, "Applied 0001_users.sql\n");
      assert.equal((await run(["d1", "migrations", "list", "letters"])).stdout, "letters has no pending migrations\n");
      assert.equal(
        (await run(["d1", "execute", "letters", "--file", "seed.sql", "--yes"])).stdout,
        "seed.sql: 2 statements executed\n",
      );
      const { json } = await run(["d1", "execute", "DB", "--command", "SELECT name FROM users", "--json"]);
      assert.deepEqual(json[0].results, [{ name: "ada" }, { name: "grace" }]);
      await run(["d1", "export", "DB", "--output", "out.sql", "--table", "users"]);
      assert.match(await readFile(join(cwd, "out.sql"), "utf8"), /INSERT INTO "users" \("name"\) VALUES\('ada'\)/);
    });
  };

  describe("without a development server", () => {
    storageTests();

    it("create the data directory with a .gitignore, and release its lock", async () => {
      assert.equal(await readFile(join(cwd, ".reelpost", ".gitignore"), "utf8"), "*\n");
      const ran = await Promise.all([1, 2, 3].map((n) => run(["kv", "key", "put", `p${n}`, "x", "-b", "NOTES"])));
      assert.deepEqual(
        ran.map(({ code }) => code),
        [0, 0, 0],
      );
    });

    it("reject conflicting options and unknown databases", async () => {
      const errorOutput = async (...args: string[]) => (await runCli(args, { cwd })).stderr;
      assert.match(await errorOutput("kv", "key", "list", "-b", "NOTES", "--data-dir", "x"), /fix: Add --local/);
      assert.match(
        await errorOutput("kv", "key", "list", "-b", "NOTES", "--local", "--token", "x"),
        /--local and --token cannot be used together/,
      );
      assert.match(
        await errorOutput("d1", "execute", "nope", "--local", "--command", "SELECT 1"),
        /has no D1 database nope\.\nfix: .*: DB, OTHER\./,
      );
    });

    it("use the directory specified with --data-dir", async () => {
      const args = ["kv", "key", "put", "elsewhere", "x", "-b", "NOTES", "--data-dir", "state"];
      await run(args);
      assert.ok((await stat(join(cwd, "state", "reelpost.sqlite"))).isFile());
      assert.deepEqual((await run(["kv", "key", "list", "-b", "NOTES", "--prefix", "else", "--json"])).json, []);
    });
  });

  describe("with a running development server", () => {
    let server: TestServer;
    before(async () => {
      server = await serve(scope, cwd);
    });
    const visit = async (path = "/") => (await fetch(`${server.url}${path}`)).json();

    it("the worker reads data that the commands wrote earlier", async () => {
      assert.deepEqual(await visit(), {
        note: { value: "hello", metadata: { by: "ada" }, cacheStatus: null },
        object: { size: bytes.length, type: "image/png" },
        names: "ada,grace",
      });
    });

    storageTests();

    it("resources without an id are created on first use, and the commands read data that the worker wrote", async () => {
      await visit("/write");
      assert.equal((await run(["kv", "key", "get", "from-worker", "-b", "NOTES"])).stdout, "w");
      assert.equal((await run(["kv", "key", "get", "k", "-b", "FREE"])).stdout, "v");
      const { json } = await run(["d1", "execute", "OTHER", "--json", "--command", "SELECT count(*) AS n FROM t"]);
      assert.deepEqual(json[0].results, [{ n: 0 }]);
    });

    it("the storage API rejects requests without the token in the data directory", async () => {
      await run(["kv", "key", "put", "greeting", "hello", "-b", "NOTES"]);
      const { url, token } = JSON.parse(await readFile(join(cwd, ".reelpost", "storage.json"), "utf8")) as {
        url: string;
        token: string;
      };
      assert.equal((await stat(join(cwd, ".reelpost", "storage.json"))).mode & 0o777, 0o600);
      const path = `${url}/accounts/${"0".repeat(32)}/storage/kv/namespaces/notes-preview/values/greeting`;
      const status = async (authorization?: string) =>
        (await fetch(path, { headers: authorization === undefined ? {} : { authorization } })).status;
      assert.deepEqual([await status(), await status("Bearer x"), await status(`Bearer ${token}`)], [400, 401, 200]);
    });

    it("the commands open the storage directly after the server has stopped", async () => {
      await server.close();
      await assert.rejects(stat(join(cwd, ".reelpost", "storage.json")), { code: "ENOENT" });
      assert.equal((await run(["kv", "key", "get", "k", "-b", "FREE"])).stdout, "v");
    });
  });

  it("open the storage of a server that was killed", async () => {
    const { child, exited } = await spawnDev(scope, cwd);
    assert.equal((await run(["kv", "key", "get", "k", "-b", "FREE"])).stdout, "v");
    child.kill("SIGKILL");
    await exited;
    assert.ok((await stat(join(cwd, ".reelpost", "storage.json"))).isFile());
    assert.equal((await run(["kv", "key", "get", "k", "-b", "FREE"])).stdout, "v");
  });
});
