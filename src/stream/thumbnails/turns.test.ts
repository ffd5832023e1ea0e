import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog, UserError } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { createImageStore } from "./image-store.ts";
import { createImageTurns, TURNS } from "./turns.ts";

test("of one video some at a time, some wait, more are refused; another video does not wait for them", async () => {
  const turns = createImageTurns({ atOnce: 2, waiting: 3 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve) => ends.push(() => resolve(name)));
  };
  const all = ["1", "2", "3", "4", "5"].map((name) => turns.take("a", work(name)));
  const refused = await turns.take("a", work("6")).catch((err: unknown) => (err instanceof UserError ? err.kind : err));
  assert.equal(refused, "encoderBusy");
  const other = turns.take("b", work("other"));
  await new Promise(setImmediate);
  assert.deepEqual(begun, ["1", "2", "other"]);
  for (let at = 0; at < 6; at++) {
    ends[at]!();
    await new Promise(setImmediate);
  }
  assert.deepEqual(await Promise.all([...all, other]), ["1", "2", "3", "4", "5", "other"]);
  await assert.rejects(
    turns.take("a", () => Promise.reject(new Error("no picture"))),
    /no picture/,
  );
  assert.equal(await turns.take("a", async () => "again"), "again");
});

test("what is kept of one video's images is bounded in octets, whoever kept it; the rest is made each time", async () => {
  const kept = new Map<string, Buffer>();
  const objects = {
    open: async (key: string) => (kept.has(key) ? { size: kept.get(key)!.length } : undefined),
    put: async (key: string, bytes: Buffer) => void kept.set(key, bytes),
    async *list() {
      for (const [key, { length: size }] of kept) yield { key, size };
    },
  } as unknown as ObjectStore;
  for (let life = 0; life < 2; life++) {
    const store = createImageStore({ objects, exists: async () => true, log: silentLog, mostOctets: 250 });
    for (let n = 0; n < 5; n++)
      assert.equal((await store.get("a", `${life}-${n}.gif`, async () => Buffer.alloc(100))).size, 100);
    assert.equal(kept.size, 2);
  }
});

test("a viewer who asks for many images of one video leaves the encoder to others", async () => {
  const objects = { open: async () => undefined, put: async () => {}, async *list() {} } as unknown as ObjectStore;
  const store = createImageStore({ objects, exists: async () => true, log: silentLog });
  let making = 0;
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const make = async () => {
    making++;
    await ended;
    return Buffer.from("image");
  };
  const many = Array.from({ length: 20 }, (_, n) => store.get("a", `${n}.jpg`, make));
  const other = store.get("b", "0.jpg", make);
  await new Promise(setImmediate);
  assert.equal(making, TURNS.atOnce + 1);
  end();
  assert.equal((await Promise.all([...many, other])).length, 21);
});
