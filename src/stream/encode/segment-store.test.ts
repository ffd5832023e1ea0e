import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { createSegmentStore, InitMismatch, VideoDeleted } from "./segment-store.ts";

function keptIn({
  videoExists = async () => true,
  onPut = () => {},
}: { videoExists?: () => Promise<boolean>; onPut?: () => void } = {}) {
  const stored = new Map<string, Buffer>();
  const reported: string[] = [];
  const objects = {
    open: async (key: string) => (stored.has(key) ? { bytes: async () => stored.get(key)! } : undefined),
    put: async (key: string, bytes: Buffer, { ifAbsent }: { ifAbsent: boolean }) => {
      assert.ok(ifAbsent);
      if (stored.has(key)) return { isExisting: true };
      onPut();
      stored.set(key, bytes);
      return {};
    },
    delete: async (keys: string[]) => void keys.map((key) => stored.delete(key)),
  } as unknown as ObjectStore;
  return {
    stored,
    reported,
    store: createSegmentStore({
      objects,
      log: silentLog,
      videoExists,
      onStored: (_, rendition, n) => void reported.push(`${rendition} ${n}`),
    }),
  };
}

test("leaves no files behind if a video is deleted while one of its segments is being written", async () => {
  let there = true;
  const { store, stored, reported } = keptIn({ videoExists: async () => there, onPut: () => void (there = false) });
  await assert.rejects(store.put("v", "360p", 1, Buffer.from("x")), VideoDeleted);
  assert.deepEqual([stored.size, reported, store.isKnownStored("v", "360p", 1)], [0, [], false]);
});

test("keeps the first segment written for a position, and rejects a different initialization segment", async () => {
  const { store, stored, reported } = keptIn();
  await store.put("v", "360p", 1, Buffer.from("first"));
  await store.put("v", "360p", 1, Buffer.from("second"));
  await store.put("v", "360p", "init", Buffer.from("init"));
  await store.put("v", "360p", "init", Buffer.from("init"));
  await assert.rejects(store.put("v", "360p", "init", Buffer.from("other")), InitMismatch);
  assert.deepEqual(
    [[...stored.values()].map(String), reported],
    [
      ["first", "init"],
      ["360p 1", "360p 1", "360p init", "360p init"],
    ],
  );
  assert.deepEqual(await store.missing("v", "360p", [0, 1, 2]), [0, 2]);
});
