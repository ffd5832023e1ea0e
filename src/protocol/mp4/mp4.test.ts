import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  createSampleLog,
  fragmentHeaderSize,
  locateMovie,
  Mp4Error,
  placementOf,
  readFragments,
  readInit,
  readMovie,
  iterateSamples,
  writeFragment,
  writeInit,
  writeMovie,
  type SampleChunk,
  type FragmentSample,
  type ReadAt,
  type TrackHeader,
  type WrittenTrack,
} from "./index.ts";
import { ascii, box, flat, u16, u32, zeros } from "./write.ts";

const entry = (width = 640, height = 360) =>
  flat(
    box(
      "avc1",
      zeros(6),
      u16(1),
      zeros(16),
      u16(width, height),
      zeros(50),
      box("avcC", Buffer.from("0164001fffe1000067", "hex")),
    ),
  );
const header: TrackHeader = {
  id: 1,
  handler: "vide",
  timescale: 90_000,
  width: 640,
  height: 360,
  language: "deu",
  description: entry(),
};
const readerOf =
  (bytes: Buffer): ReadAt =>
  async (start, length) =>
    bytes.subarray(start, start + length);

const sample: fc.Arbitrary<FragmentSample> = fc.record({
  duration: fc.integer({ min: 1, max: 9000 }),
  size: fc.nat(300),
  shift: fc.integer({ min: -9000, max: 9000 }),
  sync: fc.boolean(),
});
const segments = fc.array(fc.array(sample, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 8 });

function segmentOf(samples: readonly FragmentSample[], time: number, sequence: number): Buffer {
  const size = samples.reduce((sum, one) => sum + one.size, 0);
  return Buffer.concat([writeFragment({ track: 1, sequence, time, samples }), Buffer.alloc(size, sequence)]);
}

/** Builds a file from fragments in the same way as the file writer. */
async function fileOf(parts: readonly FragmentSample[][], start = 0) {
  const samples = createSampleLog();
  const chunks: SampleChunk[] = [];
  const data: Buffer[] = [];
  let time = start;
  let offset = 0;
  for (const [i, part] of parts.entries()) {
    const segment = segmentOf(part, time, i + 1);
    for (const fragment of await readFragments(readerOf(segment), segment.length)) {
      samples.add(fragment);
      chunks.push({ offset, count: fragment.count });
      data.push(segment.subarray(fragment.dataStart, fragment.dataStart + fragment.dataSize));
      offset += fragment.dataSize;
    }
    time += part.reduce((sum, { duration }) => sum + duration, 0);
  }
  const track: WrittenTrack = { header, samples, chunks };
  return { track, bytes: Buffer.concat([...writeMovie([track], offset, "isom"), ...data]) };
}

async function readBack(bytes: Buffer) {
  const { movie } = await locateMovie(readerOf(bytes), bytes.length);
  const read = readMovie(movie);
  const [track] = read.tracks;
  if (track === undefined) throw new Mp4Error("there is no track");
  const samples: (FragmentSample & { offset: number; time: number })[] = [];
  const walk = iterateSamples(track.samples());
  if (walk !== undefined) {
    do {
      const { duration, size, shift, sync, offset, time } = walk;
      samples.push({ duration, size, shift, sync, offset, time });
    } while (walk.next());
  }
  return { movie: read, track, samples };
}

describe("a written file", () => {
  test("has the samples of its segments, at the correct positions and times", async () => {
    await fc.assert(
      fc.asyncProperty(segments, fc.nat(200_000), async (parts, start) => {
        const { bytes } = await fileOf(parts, start);
        const { movie, track, samples } = await readBack(bytes);
        const given = parts.flat();
        assert.deepEqual(
          samples.map(({ duration, size, sync }) => ({ duration, size, sync })),
          given.map(({ duration, size, sync }) => ({ duration, size, sync })),
        );
        const placement = placementOf(track, movie)!;
        let time = start;
        for (const [i, one] of given.entries()) {
          // Edits are measured in milliseconds.
          const shown = samples[i]!.time + samples[i]!.shift - placement.offset;
          const from = Math.min(...shownTimes(given, start));
          assert.ok(
            from < 0 || Math.abs(shown - (time + one.shift)) <= 90,
            `sample ${i} is shown at ${shown}, not at ${time + one.shift}`,
          );
          time += one.duration;
        }
        let offset = bytes.length - given.reduce((sum, { size }) => sum + size, 0);
        for (const found of samples) {
          assert.equal(found.offset, offset);
          offset += found.size;
        }
        assert.deepEqual([track.timescale, track.handler, track.language], [90_000, "vide", "deu"]);
      }),
      { numRuns: 200 },
    );
  });

  test("a position in the middle of the samples can be restored", async () => {
    await fc.assert(
      fc.asyncProperty(segments, fc.nat(), async (parts, at) => {
        const { bytes } = await fileOf(parts);
        const { track, samples } = await readBack(bytes);
        const index = at % samples.length;
        const tables = track.samples();
        const walk = iterateSamples(tables)!;
        for (let i = 0; i < index; i++) walk.next();
        const again = iterateSamples(tables, walk.position())!;
        for (let i = index; i < samples.length; i++, again.next()) {
          const { duration, size, shift, sync, offset, time } = again;
          assert.deepEqual({ duration, size, shift, sync, offset, time }, samples[i]);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("uses 64-bit offsets and sizes for data beyond 4 GiB", async () => {
    const { track } = await fileOf([
      [{ duration: 3000, size: 10, shift: 0, sync: true }],
      [{ duration: 3000, size: 10, shift: 0, sync: false }],
    ]);
    const far: WrittenTrack = { ...track, chunks: [track.chunks[0]!, { offset: 5e9, count: 1 }] };
    const head = Buffer.concat(writeMovie([far], 5e9 + 10, "isom"));
    assert.equal(head.includes("co64"), true);
    const read: ReadAt = async (start, length) =>
      start < head.length ? head.subarray(start, start + length) : Buffer.alloc(length);
    const { movie } = await locateMovie(read, head.length + 5e9 + 10);
    const walk = iterateSamples(readMovie(movie).tracks[0]!.samples())!;
    assert.equal(walk.offset, head.length);
    walk.next();
    assert.equal(walk.offset, head.length + 5e9);
  });

  test("has its last frame extended over a gap between two segments, and rejects an overlap", async () => {
    const log = createSampleLog();
    const at = async (time: number) => {
      const segment = segmentOf(
        [
          { duration: 10, size: 1, shift: 0, sync: true },
          { duration: 10, size: 1, shift: 0, sync: true },
        ],
        time,
        1,
      );
      return (await readFragments(readerOf(segment), segment.length))[0]!;
    };
    log.add(await at(100));
    log.add(await at(125));
    assert.deepEqual([...log.durations()], [1, 10, 1, 15, 2, 10]);
    assert.equal(log.start, 100);
    assert.throws(
      () =>
        log.add({
          ...log,
          time: 130,
          count: 1,
          durations: Uint32Array.of(1),
          sizes: Uint32Array.of(1),
          shifts: Int32Array.of(0),
          syncs: Uint8Array.of(1),
          dataStart: 0,
          dataSize: 1,
        }),
      Mp4Error,
    );
  });

  test("fragmentHeaderSize equals the size of the written head", () => {
    for (const [count, sync, shift] of [
      [1, () => true, 0],
      [7, (i: number) => i === 0, 0],
      [7, (i: number) => i === 0, 5],
      [7, () => true, 0],
    ] as const) {
      const samples = Array.from({ length: count }, (_, i): FragmentSample => ({
        duration: 10,
        size: 3,
        shift,
        sync: sync(i),
      }));
      const mixed = samples.some((sample) => sample.sync !== samples[0]!.sync);
      assert.equal(
        fragmentHeaderSize({ count, mixed, shifted: shift !== 0, bytes: 3 * count }),
        writeFragment({ track: 1, sequence: 1, time: 0, samples }).length,
      );
    }
  });

  test("an initialization segment describes its track", async () => {
    const { id: _, ...reported } = header;
    assert.deepEqual(await readInit(writeInit(header)), reported);
  });

  test("the edit list of an initialization segment cancels its delay", async () => {
    const { id: _, ...reported } = header;
    const init = writeInit({ ...header, delay: 6000 });
    assert.deepEqual(await readInit(init), { ...reported, delay: 6000 });
    const { movie } = await locateMovie(readerOf(init), init.length);
    const parsed = readMovie(movie);
    // The edit is open-ended, with media_rate 1.
    assert.deepEqual(parsed.tracks[0]!.edits, [{ duration: 0, mediaTime: 6000, rate: 1 }]);
    assert.deepEqual(placementOf(parsed.tracks[0]!, parsed), { offset: 6000, end: Infinity });
    assert.equal(init.includes("cmfc"), true);
    // Initialization segments stored by earlier versions have no edit list.
    const plain = writeInit(header);
    assert.deepEqual([plain.includes("edts"), plain.includes("cmf2")], [false, true]);
  });
});

describe("hostile bytes", () => {
  const places = fc.array(fc.record({ at: fc.nat(5000), octet: fc.integer({ min: 0, max: 255 }) }), {
    minLength: 1,
    maxLength: 6,
  });
  /** False values for sizes and counts. */
  const words = fc.array(
    fc.record({
      at: fc.nat(1200),
      word: fc.constantFrom(0, 1, 7, 8, 9, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x00ff_ffff),
    }),
    { minLength: 1, maxLength: 3 },
  );
  const parts: FragmentSample[][] = [1, 2, 3].map((n) =>
    Array.from({ length: 5 }, (_, i) => ({ duration: 3000 + n, size: 20 * i, shift: i * 100, sync: i === 0 })),
  );

  test("quickly yield either an Mp4Error or samples", async () => {
    const { bytes } = await fileOf(parts);
    await fc.assert(
      fc.asyncProperty(places, words, fc.option(fc.nat(2000)), async (changes, lies, cut) => {
        const broken = Buffer.from(bytes.subarray(0, cut === null ? undefined : cut));
        for (const { at, octet } of changes) if (at < broken.length) broken[at] = octet;
        for (const { at, word } of lies) if (at + 4 <= broken.length) broken.writeUInt32BE(word, at);
        try {
          await readBack(broken);
        } catch (err) {
          if (!(err instanceof Mp4Error)) throw err;
        }
      }),
      { numRuns: 3000 },
    );
  });

  test("are also handled in segment headers", async () => {
    const segment = segmentOf(parts[0]!, 5, 1);
    await fc.assert(
      fc.asyncProperty(places, words, async (changes, lies) => {
        const broken = Buffer.from(segment);
        for (const { at, octet } of changes) broken[at % broken.length] = octet;
        for (const { at, word } of lies) if (at % 200 < broken.length - 4) broken.writeUInt32BE(word, at % 200);
        await readFragments(readerOf(broken), broken.length).catch((err: unknown) =>
          assert.ok(err instanceof Mp4Error, String(err)),
        );
      }),
      { numRuns: 3000 },
    );
  });

  for (const [what, bytes, says] of [
    ["an empty file", Buffer.alloc(0), /no moov box/],
    ["text", ascii("plain text with the file name of a video"), /has the size/],
    ["an index that is too large", Buffer.concat([u32(0x7fff_ffff), ascii("moov"), zeros(100)]), /has the size/],
    [
      "many empty boxes",
      Buffer.concat(Array.from({ length: 2000 }, () => Buffer.concat([u32(8), ascii("free")]))),
      /more than/,
    ],
  ] as const) {
    test(what, async () => {
      await assert.rejects(
        locateMovie(readerOf(bytes), bytes.length),
        (err) => err instanceof Mp4Error && says.test(err.message),
      );
    });
  }

  test("an index above the size limit is not read", async () => {
    const { bytes } = await fileOf(parts);
    await assert.rejects(locateMovie(readerOf(bytes), bytes.length, { maxMovieBytes: 100 }), /at most 100/);
  });
});

function* shownTimes(samples: readonly FragmentSample[], start: number): Generator<number> {
  let time = start;
  for (const { duration, shift } of samples) {
    yield time + shift;
    time += duration;
  }
}
