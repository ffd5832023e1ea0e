import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { createKept, InitDiffers, VideoGone } from "./kept.ts";

function keptIn({
  isThere = async () => true,
  onPut = () => {},
}: { isThere?: () => Promise<boolean>; onPut?: () => void } = {}) {
  const stored = new Map<string, Buffer>();
  const told: string[] = [];
  const objects = {
    open: async (key: string) => (stored.has(key) ? { bytes: async () => stored.get(key)! } : undefined),
    put: async (key: string, bytes: Buffer) => {
      onPut();
      stored.set(key, bytes);
    },
    delete: async (keys: string[]) => void keys.map((key) => stored.delete(key)),
  } as unknown as ObjectStore;
  return {
    stored,
    told,
    kept: createKept({
      objects,
      log: silentLog,
      isThere,
      onKept: (_, rendition, n) => void told.push(`${rendition} ${n}`),
    }),
  };
}

test("leaves no files of a video that is deleted while a segment is being written", async () => {
  let there = true;
  const { kept, stored, told } = keptIn({ isThere: async () => there, onPut: () => void (there = false) });
  await assert.rejects(kept.keep("v", "360p", 1, Buffer.from("x")), VideoGone);
  assert.deepEqual([stored.size, told, kept.remembers("v", "360p", 1)], [0, [], false]);
});

test("keeps the first segment written for a position, and rejects a different initialisation segment", async () => {
  const { kept, stored, told } = keptIn();
  await kept.keep("v", "360p", 1, Buffer.from("first"));
  await kept.keep("v", "360p", 1, Buffer.from("second"));
  await kept.keep("v", "360p", "init", Buffer.from("init"));
  await kept.keep("v", "360p", "init", Buffer.from("init"));
  await assert.rejects(kept.keep("v", "360p", "init", Buffer.from("other")), InitDiffers);
  assert.deepEqual(
    [[...stored.values()].map(String), told],
    [
      ["first", "init"],
      ["360p 1", "360p 1", "360p init", "360p init"],
    ],
  );
  assert.deepEqual(await kept.missing("v", "360p", [0, 1, 2]), [0, 2]);
});
