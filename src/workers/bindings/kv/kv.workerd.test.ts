import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startWorkerd, type RunningWorkerd } from "../../../../test/support/workerd.ts";
import { createManualClock } from "../../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite, storeErrors, type Db, type ObjectStore } from "../../../store/index.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { createKvService, kvMigrations, type KvService } from "./index.ts";

// Only a test inside a worker shows how workerd's KV namespace handles these responses. A request specifies one of
// these steps.
const WORKER = `
const steps = {
  async types(kv) {
    await kv.put("text", "é");
    await kv.put("json", JSON.stringify({ a: [1] }));
    await kv.put("buffer", new Uint8Array([0, 255]).buffer);
    await kv.put("view", new Uint8Array([1, 2, 3]).subarray(1));
    await kv.put("stream", new Response("streamed").body);
    const { readable, writable } = new FixedLengthStream(3);
    const writer = writable.getWriter();
    await Promise.all([kv.put("fixed", readable), writer.write(new Uint8Array([7, 8, 9])).then(() => writer.close())]);
    await kv.put("empty", "");
    return [
      await kv.get("text"), await kv.get("json", "json"), [...new Uint8Array(await kv.get("buffer", "arrayBuffer"))], [...new Uint8Array(await kv.get("view", { type: "arrayBuffer" }))],
      await kv.get("stream"), [...new Uint8Array(await kv.get("fixed", "arrayBuffer"))], await kv.get("empty"), await kv.get("absent"), await new Response(await kv.get("text", "stream")).text(),
    ];
  },
  async metadata(kv) {
    await kv.put("with", "v", { metadata: { some: "é\\u{1f600}", n: 1 } });
    await kv.put("string", "v", { metadata: "text" });
    await kv.put("without", "v");
    return [await kv.getWithMetadata("with"), await kv.getWithMetadata("string"), await kv.getWithMetadata("without"), await kv.getWithMetadata("absent"), await kv.list()];
  },
  laidOut: (kv) => kv.getWithMetadata("laidOut"),
  async keys(kv) {
    const keys = ["a/b", "a b%2F?#&=+", "é", "\\u{1f600}", "...", "x".repeat(512), "bulk/get"];
    for (const key of keys) await kv.put(key, key);
    const same = [];
    for (const key of keys) same.push((await kv.get(key)) === key);
    await kv.delete("a/b");
    await kv.delete("never there");
    return [same, await kv.get("a/b"), (await kv.list()).keys.map(({ name }) => name)];
  },
  async expiration(kv) {
    const now = Math.floor(Number(await kv.get("now")) / 1000);
    await kv.put("absolute", "v", { expiration: now + 100 });
    await kv.put("relative", "v", { expirationTtl: 60 });
    const { keys } = await kv.list({ prefix: "" });
    return [now, keys];
  },
  async pages(kv) {
    for (let i = 0; i < 5; i++) await kv.put("p" + i, "", { metadata: { i } });
    await kv.put("q", "");
    const pages = [];
    let cursor;
    do {
      const page = await kv.list({ prefix: "p", limit: 2, cursor });
      pages.push([page.keys.map(({ name, metadata }) => name + metadata.i), page.list_complete]);
      cursor = page.cursor;
    } while (cursor);
    return pages;
  },
  async bulk(kv) {
    await kv.put("a", '{"n":1}', { metadata: [1] });
    await kv.put("b", "2");
    const show = (map) => [...map];
    return [show(await kv.get(["a", "b", "absent"])), show(await kv.get(["a", "b"], "json")), show(await kv.getWithMetadata(["a", "b", "absent"], { type: "json" }))];
  },
  async large(kv) {
    const bytes = new Uint8Array(5_000_000).fill(7);
    bytes[4_999_999] = 1;
    await kv.put("large", bytes);
    const back = new Uint8Array(await kv.get("large", "arrayBuffer"));
    const reader = (await kv.get("large", "stream")).getReader();
    let streamed = 0;
    for (let chunk; !(chunk = await reader.read()).done; ) streamed += chunk.value.length;
    return [back.length, back[0], back[4_999_999], streamed];
  },
  async parallel(kv) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => kv.put("k" + i, "v" + i)));
    return (await Promise.all(Array.from({ length: 50 }, (_, i) => kv.get("k" + i)))).every((value, i) => value === "v" + i);
  },
  emptyKey: (kv) => kv.put("", "v"),
  dotKey: (kv) => kv.get("."),
  longKey: (kv) => kv.put("x".repeat(513), "v"),
  longMetadata: (kv) => kv.put("k", "v", { metadata: "x".repeat(2000) }),
  hugeMetadata: (kv) => kv.put("k", "v", { metadata: "x".repeat(100_000) }),
  shortTtl: (kv) => kv.put("k", "v", { expirationTtl: 59 }),
  zeroTtl: (kv) => kv.put("k", "v", { expirationTtl: 0 }),
  past: (kv) => kv.put("k", "v", { expiration: 1 }),
  tooLarge: (kv) => kv.put("k", new Uint8Array(25 * 1024 * 1024 + 1)),
  tooLargeStream: (kv) => kv.put("k", new Blob([new Uint8Array(26 * 1024 * 1024)]).stream()),
  afterwards: async (kv) => [await kv.get("k"), (await kv.list()).keys.length],
  badCacheTtl: (kv) => kv.get("k", { cacheTtl: 5 }),
  largeLimit: (kv) => kv.list({ limit: 2000 }),
  manyKeys: (kv) => kv.get(Array.from({ length: 101 }, (_, i) => "k" + i)),
  noKeys: (kv) => kv.get([]),
  async notJson(kv) { await kv.put("k", "no json"); return kv.get(["k"], "json"); },
  badType: (kv) => kv.get(["k"], "arrayBuffer"),
};
export default {
  async fetch(request, env) {
    try {
      return Response.json({ value: (await steps[await request.text()](env.KV)) ?? null });
    } catch (error) {
      return Response.json({ error: error.message });
    }
  },
};
`;

describe("KV through workerd", () => {
  let folder: string;
  let db: Db;
  let service: KvService;
  let workerd: RunningWorkerd;
  let namespace: string;
  let account: string | undefined;
  let full = false;
  const clock = createManualClock(Date.now());

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "kv-workerd-"));
    db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, kvMigrations);
    const objects = await openFsObjects({ folder: join(folder, "objects") });
    const put: ObjectStore["put"] = async (key, body, options) => {
      if (!full) return objects.put(key, body, options);
      await (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().next();
      throw storeErrors.diskFull({ what: folder });
    };
    service = createKvService({ db, objects: { ...objects, put }, clock });
    workerd = await startWorkerd({
      modules: { "main.js": WORKER },
      bindings: `(name = "KV", kvNamespace = "kv")`,
      services: {
        kv: (request, response) =>
          void service.handle(request, response, {
            script: { name: "test", account } as WorkerScript,
            binding: { type: "kv_namespace", name: "KV", namespace_id: namespace },
          }),
      },
    });
  });
  after(async () => {
    await workerd?.close();
    await service?.store.close();
    await db?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (step: string) =>
    (await (await workerd.fetch("/", { method: "POST", body: step })).json()) as { value?: unknown; error?: string };
  const value = async (step: string) => {
    namespace = step;
    const answer = await ask(step);
    assert.equal(answer.error, undefined, workerd.output());
    return answer.value as unknown[];
  };
  const error = async (step: string) => ((namespace = "errors"), (await ask(step)).error);

  test("writes and reads values of every type", async () => {
    assert.deepEqual(await value("types"), ["é", { a: [1] }, [0, 255], [2, 3], "streamed", [7, 8, 9], "", null, "é"]);
  });

  test("writes and reads metadata", async () => {
    const some = { some: "é\u{1f600}", n: 1 };
    assert.deepEqual(await value("metadata"), [
      { value: "v", metadata: some, cacheStatus: null },
      { value: "v", metadata: "text", cacheStatus: null },
      { value: "v", metadata: null, cacheStatus: null },
      { value: null, metadata: null, cacheStatus: null },
      {
        keys: [{ name: "string", metadata: "text" }, { name: "with", metadata: some }, { name: "without" }],
        list_complete: true,
        cacheStatus: null,
      },
    ]);
  });

  test("reads metadata that the API received as multi-line JSON", async () => {
    await service.store.put("laidOut", "laidOut", Buffer.from("v"), { metadata: '{\r\n\t"a": "b\\nc"\n}' });
    assert.deepEqual(await value("laidOut"), { value: "v", metadata: { a: "b\nc" }, cacheStatus: null });
  });

  test("accepts keys of every kind and deletes them", async () => {
    assert.deepEqual(await value("keys"), [
      Array(7).fill(true),
      null,
      ["...", "a b%2F?#&=+", "bulk/get", "x".repeat(512), "é", "\u{1f600}"],
    ]);
  });

  test("returns expirations in lists and enforces them", async () => {
    await service.store.put("expiration", "now", Buffer.from(String(clock.now())));
    const [now, keys] = (await value("expiration")) as [number, unknown];
    assert.deepEqual(keys, [
      { name: "absolute", expiration: now + 100 },
      { name: "now" },
      { name: "relative", expiration: now + 60 },
    ]);
    clock.advance(60_000);
    assert.equal(await service.store.get("expiration", "relative"), undefined);
    assert.ok(await service.store.get("expiration", "absolute"));
  });

  test("lists keys in pages", async () => {
    assert.deepEqual(await value("pages"), [
      [["p00", "p11"], false],
      [["p22", "p33"], false],
      [["p44"], true],
    ]);
  });

  test("gets many keys in one call", async () => {
    assert.deepEqual(await value("bulk"), [
      [
        ["a", '{"n":1}'],
        ["b", "2"],
        ["absent", null],
      ],
      [
        ["a", { n: 1 }],
        ["b", 2],
      ],
      [
        ["a", { value: { n: 1 }, metadata: [1] }],
        ["b", { value: 2, metadata: null }],
        ["absent", null],
      ],
    ]);
  });

  test("writes and reads large values, whole, streamed and concurrently", async () => {
    assert.deepEqual(await value("large"), [5_000_000, 7, 1, 5_000_000]);
    assert.equal(await value("parallel"), true);
  });

  test("errors reach the worker with the real service's messages", async () => {
    assert.equal(await error("emptyKey"), "Key name cannot be empty.");
    assert.equal(await error("dotKey"), '"." is not allowed as a key name.');
    assert.equal(
      await error("longKey"),
      "KV PUT failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512.",
    );
    assert.equal(await error("longMetadata"), "KV PUT failed: 413 Metadata length of 2002 exceeds limit of 1024.");
    assert.equal(await error("hugeMetadata"), "KV PUT failed: 413 Metadata length of 100002 exceeds limit of 1024.");
    assert.equal(
      await error("shortTtl"),
      "KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60.",
    );
    assert.equal(
      await error("zeroTtl"),
      "KV PUT failed: 400 Invalid expiration_ttl of 0. Please specify integer greater than 0.",
    );
    assert.equal(
      await error("past"),
      "KV PUT failed: 400 Invalid expiration of 1. Please specify integer greater than the current number of seconds since the UNIX epoch.",
    );
    assert.equal(
      await error("badCacheTtl"),
      "KV GET failed: 400 Invalid cache_ttl of 5. Cache TTL must be at least 30.",
    );
    assert.equal(
      await error("largeLimit"),
      "KV GET failed: 400 Invalid key_count_limit of 2000. Please specify an integer less than 1000.",
    );
    assert.equal(await error("manyKeys"), "KV GET_BULK failed: 400 You can request a maximum of 100 keys");
    assert.equal(await error("noKeys"), "KV GET_BULK failed: 400 You must request a minimum of 1 key");
    assert.equal(
      await error("notJson"),
      "KV GET_BULK failed: 400 At least one of the requested keys corresponds to a non-json value",
    );
    assert.equal(
      await error("badType"),
      'KV GET_BULK failed: 400 "arrayBuffer" is not a valid type. Use "json" or "text"',
    );
  });

  test("a value that is too large is rejected with its length, and none of it is stored", async () => {
    await service.store.delete("errors", "k");
    assert.equal(await error("tooLarge"), "KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400.");
    assert.equal(
      await error("tooLargeStream"),
      "KV PUT failed: 413 Value length of 27262976 exceeds limit of 26214400.",
    );
    assert.deepEqual((await ask("afterwards")).value, [null, 0]);
  });

  test("a store failure is reported as such, without paths, even in the middle of a value", async (t) => {
    full = true;
    t.after(() => void (full = false));
    assert.equal(await error("large"), "KV PUT failed: 507 Insufficient Storage");
    assert.deepEqual((await ask("afterwards")).value, [null, 0]);
  });

  test("a worker of an account can access that account's namespaces while they exist", async () => {
    account = "a".repeat(32);
    try {
      const { id } = await service.namespaces.create(account, "bound");
      const other = await service.namespaces.create("b".repeat(32), "another's");
      namespace = id;
      assert.equal((await ask("metadata")).error, undefined);
      assert.equal((await service.store.list(id)).keys.length, 3);
      namespace = other.id;
      assert.equal((await ask("metadata")).error, "KV PUT failed: 410 namespace not found");
      await service.namespaces.delete(account, id);
      namespace = id;
      assert.equal((await ask("metadata")).error, "KV PUT failed: 410 namespace not found");
    } finally {
      account = undefined;
    }
  });
});
