import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveFragment } from "../fragments.ts";
import { createPendingFragments } from "./pending.ts";

const fragment = (rendition: string, time: number): LiveFragment => ({
  rendition,
  time,
  duration: 1,
  key: true,
  bytes: Buffer.alloc(10, time),
});

test("reports a page as emptied once, when its last fragment has been added to a segment", () => {
  const pending = createPendingFragments();
  const fragments = [fragment("source", 0), fragment("audio", 0), fragment("source", 1)];
  for (const one of fragments) pending.add("1", one);
  assert.deepEqual([pending.octets(), pending.unwritten()], [30, 30]);
  const [page] = pending.pages();
  assert.deepEqual(page!.fragments, [fragments[0], fragments[2], fragments[1]]);
  page!.written(7);
  assert.deepEqual([pending.octets(), pending.unwritten(), pending.pages().length], [30, 0, 0]);

  assert.equal(pending.remove("1", "source", { bytes: [fragments[0]!.bytes, fragments[2]!.bytes], end: 2 }), 2);
  assert.deepEqual(pending.takeEmptyPages(), []);
  assert.equal(pending.remove("1", "audio", { bytes: [fragments[1]!.bytes], end: 1 }), 1);
  assert.deepEqual(pending.takeEmptyPages(), [7]);
  assert.deepEqual([pending.takeEmptyPages(), pending.octets()], [[], 0]);
});

test("a fragment added to a segment while its page is being written is not counted on the page", () => {
  const pending = createPendingFragments();
  const [first, second] = [fragment("source", 0), fragment("source", 1)];
  pending.add("1", first);
  pending.add("1", second);
  const [page] = pending.pages();
  pending.remove("1", "source", { bytes: [first.bytes], end: 1 });
  page!.written(3);
  assert.deepEqual([pending.takeEmptyPages(), pending.octets(), pending.unwritten()], [[], 10, 0]);
  pending.remove("1", "source", { bytes: [second.bytes], end: 2 });
  assert.deepEqual(pending.takeEmptyPages(), [3]);
});
