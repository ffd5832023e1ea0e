import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { createWrangler, type Wrangler } from "../support/wrangler.ts";
import { createScope } from "./platform.ts";

const CONFIG = {
  name: "letters",
  main: "worker.js",
  compatibility_date: "2026-10-01",
  kv_namespaces: [{ binding: "NOTES", id: "kv-live" }],
  r2_buckets: [{ binding: "FILES", bucket_name: "letter-files" }],
  d1_databases: [
    { binding: "DB", database_name: "letters", database_id: "5f9f1a1e-0000-4000-8000-000000000001" },
    { binding: "OTHER", database_name: "other" },
  ],
};

describe("importing wrangler's local state", () => {
  const scope = createScope();
  const bytes = randomBytes(200_000);
  let wrangler: Wrangler;
  let cwd = "";
  before(async () => {
    // Commands with --local send no requests.
    wrangler = await createWrangler(
      scope,
      { api: "http://127.0.0.1:9/client/v4", token: "none" },
      {
        "wrangler.jsonc": JSON.stringify(CONFIG),
        "worker.js": "export default {}",
      },
    );
    cwd = wrangler.folder;
    await wrangler.write("in.bin", bytes);
    const sql =
      "CREATE TABLE mail (id INTEGER PRIMARY KEY, subject TEXT, body BLOB); INSERT INTO mail VALUES (7, 'hello', x'00ff')";
    const runLocal = (line: string, ...more: string[]) => wrangler.run([...line.split(" "), "--local", ...more]);
    await runLocal("d1 execute letters", "--command", sql);
    await runLocal("d1 execute other", "--command", "CREATE TABLE t (a)");
    await runLocal("kv key put --binding NOTES greeting hello --ttl 3600", "--metadata", '{"by":"ada"}');
    await runLocal("kv key put --binding NOTES large --path in.bin");
    await runLocal(
      "r2 object put letter-files/a/b.bin --file in.bin --content-type image/png --cache-control max-age=60",
    );
  });
  after(scope.close);

  const run = async (...args: string[]): Promise<CliResult> => {
    const ran = await runCli(args, { cwd });
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const counts = (json: Record<string, { from: string; to: string; copied: number; kept: number }[]>) =>
    ["kv", "r2", "d1"].map((kind) => json[kind]!.map(({ from, to, copied, kept }) => [from, to, copied, kept]));

  it("lists the resources to copy with --dry-run", async () => {
    const { stdout } = await run("import", "wrangler-state", "--dry-run");
    assert.match(stdout, /^KV namespace +kv-live +kv-live +2 keys$/m);
    assert.match(stdout, /^R2 bucket +letter-files +letter-files +1 object$/m);
    assert.match(stdout, /^D1 database +5f9f1a1e-\S+ +5f9f1a1e-\S+ +1 table$/m);
  });

  it("copies keys, objects and databases", async () => {
    const { json } = await run("import", "wrangler-state", "--json");
    const id = CONFIG.d1_databases[0]!.database_id!;
    assert.deepEqual(counts(json), [
      [["kv-live", "kv-live", 2, 0]],
      [["letter-files", "letter-files", 1, 0]],
      [
        [id, id, 1, 0],
        ["OTHER", "letters-other", 1, 0],
      ],
    ]);
    const { json: keys } = await run("kv", "key", "list", "-b", "NOTES", "--local", "--json");
    assert.deepEqual(
      keys.map(({ name, metadata, expiration }: Record<string, unknown>) => [name, metadata, typeof expiration]),
      [
        ["greeting", { by: "ada" }, "number"],
        ["large", undefined, "undefined"],
      ],
    );
    assert.ok(keys[0].expiration > Date.now() / 1000 + 3000);
    await run("kv", "key", "get", "large", "-b", "NOTES", "--local", "--file", "large.bin");
    assert.ok((await readFile(join(cwd, "large.bin"))).equals(bytes));
    await run("r2", "object", "get", "letter-files/a/b.bin", "--local", "--file", "object.bin");
    assert.ok((await readFile(join(cwd, "object.bin"))).equals(bytes));
    const { json: rows } = await run("d1", "execute", "DB", "--local", "--json", "--command", "SELECT * FROM mail");
    assert.deepEqual(rows[0].results, [{ id: 7, subject: "hello", body: [0, 255] }]);
    await run("d1", "execute", "OTHER", "--local", "--command", "INSERT INTO t VALUES (1)");
  });

  it("keeps keys, objects and databases that already exist", async () => {
    const { json } = await run("import", "wrangler-state", "--json");
    assert.deepEqual(
      counts(json).map((kind) => kind.map(([, , copied, kept]) => [copied, kept])),
      [
        [[0, 2]],
        [[0, 1]],
        [
          [0, 1],
          [0, 1],
        ],
      ],
    );
  });

  it("rejects a directory without wrangler state", async () => {
    const ran = await runCli(["import", "wrangler-state", "--from", "nowhere"], { cwd });
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, /nowhere contains no local wrangler state\.[^]*--from/);
  });
});
