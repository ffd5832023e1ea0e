import assert from "node:assert/strict";
import { test } from "node:test";
import { readFragments, writeFragment } from "../../protocol/mp4/index.ts";
import type { MediaModel } from "../model.ts";
import { frameTicks } from "./codecs.ts";
import { modelOf, rung } from "./encode.testing.ts";
import { createSegmentAssembler, FramesMissing } from "./restamp.ts";

const rendition = rung("180p", 320, 180);
const model = {
  version: 1,
  source: {},
  ...modelOf({ seconds: 4, segmentSeconds: 1, ladder: [rendition] }),
} as unknown as MediaModel;
const TICKS = frameTicks(rendition, model);

/** Encoder output: a fragment per frame, each frame one byte, in order of decoding. `at`: position on the grid. */
const encoded = ({ count = 30, key = 0, at = (i: number) => i } = {}): Buffer[] =>
  Array.from({ length: count }, (_, i) =>
    Buffer.concat([
      writeFragment({
        track: 1,
        sequence: i + 1,
        time: i * TICKS,
        samples: [{ duration: TICKS, size: 1, shift: (at(i) - i) * TICKS, sync: i === key }],
      }),
      Buffer.from([i]),
    ]),
  );

/** Resolves with the chunks of segment n. */
async function assemble(frames: readonly Buffer[], n = 0): Promise<Buffer[]> {
  const assembler = createSegmentAssembler(n, rendition, model);
  const chunks: Buffer[] = [];
  for (const frame of frames) chunks.push(...[await assembler.add(frame)].filter((chunk) => chunk !== undefined));
  assert.ok(assembler.isComplete());
  return chunks;
}

test("a segment consists of chunks, short ones first, whose frames keep their bytes and times", async () => {
  const chunks = await assemble(encoded({ at: (i) => i + 30 }), 1);
  const bytes = Buffer.concat(chunks);
  const fragments = await readFragments(async (start, length) => bytes.subarray(start, start + length), bytes.length);
  assert.deepEqual(
    fragments.map(({ count }) => count),
    [8, 8, 14],
  );
  assert.deepEqual(
    fragments.map(({ time }) => time / TICKS),
    [30, 38, 46],
  );
  assert.deepEqual(
    fragments.map(({ syncs }) => syncs.indexOf(1)),
    [0, -1, -1],
  );
  const frames = fragments.flatMap(({ dataStart, dataSize }) => [...bytes.subarray(dataStart, dataStart + dataSize)]);
  assert.deepEqual(
    frames,
    Array.from({ length: 30 }, (_, i) => i),
  );
});

test("rejects a segment that does not start with a key frame", async () => {
  await assert.rejects(assemble(encoded({ key: 1 })), /segment 0 does not begin with a key frame/);
});

test("rejects a segment with a missing, extra or misplaced frame", async () => {
  await assert.rejects(assemble(encoded({ at: (i) => i + 1 })), FramesMissing);
  await assert.rejects(assemble(encoded({ at: (i) => i + 60, key: 0 }), 1), FramesMissing);
  const next = encoded({ count: 31, key: 29, at: (i) => i + 1 })[29]!;
  await assert.rejects(assemble([...encoded({ count: 29 }), next]), FramesMissing);
  await assert.rejects(assemble(encoded({ at: (i) => (i === 5 ? 6 : i) })), /evenly/);
  await assert.rejects(assemble(encoded({ at: (i) => (i === 5 ? 30 : i) })), /evenly/);
  await assert.rejects(assemble(encoded({ at: (i) => (i === 5 ? 5.5 : i) })), /evenly/);
  await assert.rejects(assemble([Buffer.concat(encoded({ count: 2 }))]), /several frames/);
});
