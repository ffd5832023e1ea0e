import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi, type Reply } from "../cli.testing.ts";

const BASE = `/accounts/${ACCOUNT}`;
const KV = `${BASE}/storage/kv/namespaces`;

test("an item that fails does not stop the others, and the next run exports only what is missing", async (t) => {
  let isBroken = true;
  const broken: Reply = { status: 400, errors: [{ code: 10001, message: "the list is broken" }] };
  const api = await startFakeApi(t, {
    [`GET ${KV}`]: {
      result: [
        { id: "1", title: "first" },
        { id: "2", title: "second" },
      ],
    },
    [`GET ${KV}/1/keys`]: { result: [{ name: "k", expiration: 2_000_000_000 }], result_info: { cursor: "" } },
    [`POST ${KV}/1/bulk/get`]: { result: { values: { k: "v" } } },
    [`GET ${KV}/2/keys`]: () => (isBroken ? broken : { result: [], result_info: { cursor: "" } }),
    [`GET ${BASE}/r2/buckets`]: { status: 403, errors: [{ code: 10000, message: "Authentication error" }] },
  });
  const cwd = await folderWith(t);
  const run = (...args: string[]) => runCli([...args, "--json"], { cwd, api });
  const exportAll = () => run("export", "out", "--only", "kv", "--only", "r2");

  const first = await exportAll();
  assert.deepEqual(
    [first.code, first.json.complete, first.json.failed],
    [1, false, [{ kind: "KV namespace", name: "second", reason: "the list is broken [code: 10001]" }]],
  );
  assert.match(first.json.refused[`${BASE}/r2/buckets`], /Authentication error/);
  assert.equal(
    await readFile(join(cwd, "out/kv/1.ndjson"), "utf8"),
    '{"key":"k","value":"v","expiration":2000000000}\n',
  );
  const incomplete = await run("import", "folder", "out", "--dry-run");
  assert.deepEqual([incomplete.code, incomplete.json.error.code], [1, "E_EXPORT_INCOMPLETE"]);

  isBroken = false;
  api.seen.length = 0;
  const second = await exportAll();
  assert.deepEqual([second.code, second.json.complete, second.json.counts["KV key"]], [0, true, 1]);
  assert.ok(!api.calls().includes(`GET ${KV}/1/keys`));
  const third = await exportAll();
  assert.deepEqual([third.code, third.json.error.code], [1, "E_EXPORT_FINISHED"]);
});

test("the text output shows counts, failures and refusals", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${KV}`]: { result: [{ id: "1", title: "first" }] },
    [`GET ${KV}/1/keys`]: { status: 400, errors: [{ code: 10001, message: "the list is broken" }] },
    [`GET ${BASE}/r2/buckets`]: { status: 403, errors: [{ code: 10000, message: "Authentication error" }] },
  });
  const cwd = await folderWith(t);
  const run = (...args: string[]) => runCli(["export", "out", "--only", "kv", "--only", "r2", ...args], { cwd, api });
  assert.match((await run("--dry-run")).stdout, /^ +count +size\nKV namespace +1\n$/);
  const { stdout } = await run();
  assert.match(stdout, /Failed; run the command again to retry:\n {2}KV namespace first: the list is broken/);
  assert.match(stdout, /Access refused:\n {2}\/accounts\/a+\/r2\/buckets: Authentication error/);
});

test("a product that the server does not have is left out", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${BASE}/stream/live_inputs`]: { status: 400, errors: [{ code: 7000, message: "No route for that URI" }] },
  });
  const cwd = await folderWith(t);
  const { code, json } = await runCli(["export", "out", "--only", "live", "--json"], { cwd, api });
  assert.deepEqual([code, json.complete, json.failed, json.refused], [0, true, [], {}]);
});
