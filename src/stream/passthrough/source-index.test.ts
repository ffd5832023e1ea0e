import assert from "node:assert/strict";
import { test } from "node:test";
import { createSampleLog, writeMovie, type SampleChunk, type FragmentSample } from "../../protocol/mp4/index.ts";
import { testModel } from "../videos/videos.testing.ts";
import { readSourceIndex } from "./source-index.ts";

/** ISO 14496-15: avc1 of 64x64, high profile. */
const ENTRY = Buffer.alloc(101);
ENTRY.writeUInt32BE(ENTRY.length, 0);
ENTRY.write("avc1", 4, "latin1");
ENTRY.writeUInt16BE(64, 32);
ENTRY.writeUInt16BE(64, 34);
ENTRY.writeUInt32BE(15, 86);
ENTRY.write("avcC", 90, "latin1");
ENTRY.set([1, 100, 0, 31, 255, 225, 0], 94);

const RATE = 25;

/** Returns a file with these frames, 25 per second, all in one chunk or all at one offset. */
function fileOf(samples: readonly FragmentSample[], { description = ENTRY, overlaid = false } = {}): Buffer {
  const log = createSampleLog();
  const list = <T>(Make: { from(values: number[]): T }, pick: (sample: FragmentSample) => number) =>
    Make.from(samples.map(pick));
  log.add({
    time: 0,
    count: samples.length,
    dataStart: 0,
    dataSize: 0,
    durations: list(Uint32Array, ({ duration }) => duration),
    sizes: list(Uint32Array, ({ size }) => size),
    shifts: list(Int32Array, ({ shift }) => shift),
    syncs: list(Uint8Array, ({ sync }) => Number(sync)),
  });
  const octets = overlaid ? samples[0]!.size : samples.reduce((sum, { size }) => sum + size, 0);
  const chunks: SampleChunk[] = overlaid
    ? samples.map(() => ({ offset: 0, count: 1 }))
    : [{ offset: 0, count: samples.length }];
  const head = writeMovie(
    [{ header: { id: 1, handler: "vide", timescale: RATE, width: 64, height: 64, description }, samples: log, chunks }],
    octets,
    "isom",
  );
  return Buffer.concat([...head, Buffer.alloc(octets)]);
}

const picture = (i: number, more: Partial<FragmentSample> = {}): FragmentSample => ({
  duration: 1,
  size: 10,
  shift: 0,
  sync: i % 50 === 0,
  ...more,
});
const pictures = (count: number, of: (i: number) => FragmentSample = picture) =>
  Array.from({ length: count }, (_, i) => of(i));
const index = (file: Buffer, size = file.length) =>
  readSourceIndex(async (start, length) => file.subarray(start, start + length), size, testModel());

async function starts(samples: FragmentSample[]): Promise<number[]> {
  const found = await index(fileOf(samples));
  assert.ok(typeof found !== "string", String(found));
  return found.video.segments.map(({ start }) => start / RATE);
}

test("a segment starts with the first key frame after a few seconds", async () => {
  assert.deepEqual(await starts(pictures(500)), [0, 4, 8, 12, 16]);
});

test("a segment does not start with a key frame followed by frames that are displayed before it", async () => {
  // At 4 s the GOP is open: its key frame is decoded two frames too early.
  const open = (i: number) => picture(i, i === 100 ? { shift: 2 } : i === 101 || i === 102 ? { shift: -1 } : {});
  assert.deepEqual(await starts(pictures(500, open)), [0, 6, 10, 14, 18]);
});

test("a source whose GOPs are all open or too long is not offered", async () => {
  const open = (i: number) =>
    picture(i, i > 0 && i % 50 === 0 ? { shift: 2 } : i > 2 && i % 50 <= 2 ? { shift: -1 } : {});
  assert.match(String(await index(fileOf(pictures(600, open)))), /too far apart/);
  assert.match(
    String(await index(fileOf(pictures(600, (i) => picture(i, { sync: i === 0 }))))),
    /too far apart \(24 s\)/,
  );
});

test("samples outside the file, or larger in total than the file, are not offered", async () => {
  const file = fileOf(pictures(100));
  assert.match(String(await index(file.subarray(0, -1))), /only \d+ octets remain|beyond the end/);
  const lie = Buffer.from(file);
  lie.writeUInt32BE(900, lie.indexOf("stsz") + 8);
  assert.match(String(await index(lie)), /beyond the end/);
  // A small file that would expand into a large response: all frames refer to the same bytes.
  assert.match(
    String(
      await index(
        fileOf(
          pictures(1000, (i) => picture(i, { size: 50_000 })),
          { overlaid: true },
        ),
      ),
    ),
    /beyond the end/,
  );
});

test("video is not offered if it is not H.264, lacks its parameters in the index, or starts inside a GOP", async () => {
  const other = Buffer.from(ENTRY);
  other.write("avc3", 4, "latin1");
  assert.match(String(await index(fileOf(pictures(100), { description: other }))), /not H\.264/);
  const high10 = Buffer.from(ENTRY);
  high10[95] = 110;
  assert.match(String(await index(fileOf(pictures(100), { description: high10 }))), /avc1\.6e001f/);
  assert.match(String(await index(fileOf(pictures(100, (i) => picture(i, { sync: i === 10 }))))), /key frame/);
});
