import assert from "node:assert/strict";
import { test } from "node:test";
import { writeFragment } from "../../protocol/mp4/index.ts";
import type { MediaModel } from "../model.ts";
import { frameTicks } from "./codecs.ts";
import { modelOf, rung } from "./encode.testing.ts";
import { FramesMissing, videoSegment } from "./restamp.ts";

const rendition = rung("180p", 320, 180);
const model = {
  version: 1,
  source: {},
  ...modelOf({ seconds: 4, segmentSeconds: 1, ladder: [rendition] }),
} as unknown as MediaModel;
const TICKS = frameTicks(rendition, model);

/** Returns encoder output for one segment: 30 frames of one byte. */
function encoded({
  count = 30,
  key = 0,
  order = (i: number) => i,
}: { count?: number; key?: number; order?: (i: number) => number } = {}): Buffer {
  const samples = Array.from({ length: count }, (_, i) => ({
    duration: TICKS,
    size: 1,
    shift: (order(i) - i) * TICKS,
    sync: i === key,
  }));
  return Buffer.concat([writeFragment({ track: 1, sequence: 1, time: 0, samples }), Buffer.alloc(count, "x")]);
}

test("rejects a segment that does not start with a key frame", async () => {
  assert.ok((await videoSegment(encoded(), 0, rendition, model)).length > 30);
  await assert.rejects(
    videoSegment(encoded({ key: 1 }), 0, rendition, model),
    /segment 0 does not begin with a key frame/,
  );
});

test("rejects a segment with a missing, extra or misplaced frame", async () => {
  await assert.rejects(videoSegment(encoded({ count: 29 }), 1, rendition, model), FramesMissing);
  await assert.rejects(videoSegment(encoded({ count: 31 }), 1, rendition, model), /segment 1 has 31/);
  await assert.rejects(videoSegment(encoded({ order: (i) => (i === 5 ? 6 : i) }), 1, rendition, model), /evenly/);
  await assert.rejects(videoSegment(Buffer.concat([encoded(), encoded()]), 1, rendition, model), /has 2 fragments/);
});
