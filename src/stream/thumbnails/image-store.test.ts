import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog, UserError } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { createImageQueue, createImageStore, IMAGE_QUEUE } from "./image-store.ts";

test("rejects a rendering if 50 for the same video are waiting, but runs one for another video", async () => {
  const queue = createImageQueue();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const all = Array.from({ length: IMAGE_QUEUE.concurrency + IMAGE_QUEUE.maxWaiting }, () =>
    queue("a", () => released),
  );
  const refused = await queue("a", async () => {}).catch((err: unknown) => (err instanceof UserError ? err.kind : err));
  assert.equal(refused, "encoderBusy");
  assert.equal(await queue("b", async () => "other"), "other");
  release();
  await Promise.all(all);
});

test("limits the stored image bytes per video across processes, and renders further images each time", async () => {
  const kept = new Map<string, Buffer>();
  const objects = {
    open: async (key: string) => (kept.has(key) ? { size: kept.get(key)!.length } : undefined),
    put: async (key: string, bytes: Buffer) => void kept.set(key, bytes),
    async *list() {
      for (const [key, { length: size }] of kept) yield { key, size };
    },
  } as unknown as ObjectStore;
  for (let life = 0; life < 2; life++) {
    const store = createImageStore({ objects, exists: async () => true, log: silentLog, maxStoredBytes: 250 });
    if (life === 1) assert.equal((await store.get("a", "0-0.gif", assert.fail)).size, 100, "finds a stored image");
    for (let n = 0; n < 5; n++)
      assert.equal((await store.get("a", `${life}-${n}.gif`, async () => Buffer.alloc(100))).size, 100);
    assert.equal(kept.size, 2);
  }
});

test("many image requests for one video do not block the encoder for others", async () => {
  const objects = { open: async () => undefined, put: async () => {}, async *list() {} } as unknown as ObjectStore;
  const store = createImageStore({ objects, exists: async () => true, log: silentLog });
  let pending = 0;
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const make = async () => {
    pending++;
    await ended;
    return Buffer.from("image");
  };
  const many = Array.from({ length: 20 }, (_, n) => store.get("a", `${n}.jpg`, make));
  const other = store.get("b", "0.jpg", make);
  await new Promise(setImmediate);
  assert.equal(pending, IMAGE_QUEUE.concurrency + 1);
  end();
  assert.equal((await Promise.all([...many, other])).length, 21);
});
