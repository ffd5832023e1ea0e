import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readFragments, type Fragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";
import { createVideoFragments, VIDEO_TIMESCALE, toVideoTicks } from "./picture-fragments.ts";
import { createAudioFragments } from "./audio-fragments.ts";

const read = async ({ bytes }: LiveFragment): Promise<Fragment> => {
  const [fragment] = await readFragments(async (start, length) => bytes.subarray(start, start + length), bytes.length);
  return fragment!;
};

function pictures(partMs = 333) {
  const fragments: LiveFragment[] = [];
  return {
    fragments,
    made: createVideoFragments({ rendition: "source", partMs, onFragment: (fragment) => fragments.push(fragment) }),
  };
}

test("ends a video fragment before the next frame would exceed its length, and before a key frame", async () => {
  const { fragments, made } = pictures();
  for (let i = 0; i < 20; i++) made.add({ time: i * 3600, shift: 0, key: i === 0 || i === 12, data: Buffer.from([i]) });
  // Eight frames of 40 ms fit into 333 ms; four remain before the key frame; the last ones are emitted at the end.
  assert.deepEqual(
    fragments.map(({ time, duration, key }) => [time, duration, key]),
    [
      [0, 0.32, true],
      [0.32, 0.16, false],
    ],
  );
  made.add({ time: 20 * 3600, shift: 0, key: false, data: Buffer.from([20]) });
  made.end();
  made.end();
  assert.deepEqual(fragments.map(({ time, duration, key }) => [time, duration, key]).slice(2), [
    [0.48, 0.32, true],
    [0.8, 0.04, false],
  ]);
  const second = await read(fragments[1]!);
  assert.deepEqual(
    [second.time, [...second.durations], [...second.syncs]],
    [8 * 3600, [3600, 3600, 3600, 3600], [0, 0, 0, 0]],
  );
  assert.deepEqual([...fragments[1]!.bytes.subarray(second.dataStart)], [8, 9, 10, 11]);
});

test("a fragment does not retain memory of the buffer pool", () => {
  const { fragments, made } = pictures();
  for (let i = 0; i < 20; i++) made.add({ time: i * 3600, shift: 0, key: i === 0, data: Buffer.from([i]) });
  const audio = createAudioFragments({
    rendition: "audio",
    partMs: 200,
    sampleRate: 48_000,
    frame: 1024,
    onFragment: (fragment) => fragments.push(fragment),
  });
  for (let i = 0; i < 20; i++) audio.add((i * 1024 * 1_000_000) / 48_000, Buffer.from([i]));
  audio.end();
  assert.deepEqual(new Set(fragments.map(({ rendition }) => rendition)), new Set(["source", "audio"]));
  for (const { bytes } of fragments) assert.equal(bytes.buffer.byteLength, bytes.length);
});

test("loses no frame, keeps fragments contiguous, and presents each frame at the timestamp of its packet", async () => {
  const step = fc.record({
    gap: fc.integer({ min: 0, max: 400 }),
    delay: fc.integer({ min: 0, max: 200 }),
    key: fc.boolean(),
    size: fc.integer({ min: 0, max: 9 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 80 }),
      fc.integer({ min: 100, max: 1000 }),
      async (steps, partMs) => {
        const { fragments, made } = pictures(partMs);
        const shown: number[] = [];
        let ms = 0;
        for (const { gap, delay, key, size } of steps) {
          ms += gap;
          made.add({ time: toVideoTicks(ms * 1000), shift: toVideoTicks(delay * 1000), key, data: Buffer.alloc(size) });
          shown.push(toVideoTicks((ms + delay) * 1000));
        }
        made.end();
        const seen: number[] = [];
        let end: number | undefined;
        for (const fragment of fragments) {
          const { time, durations, shifts, syncs } = await read(fragment);
          if (end !== undefined) assert.equal(time, end);
          assert.equal(fragment.time, time / VIDEO_TIMESCALE);
          end = time;
          for (const [i, duration] of durations.entries()) {
            seen.push(end + shifts[i]!);
            end += duration;
          }
          assert.ok(syncs.every((sync, i) => i === 0 || sync === 0));
          assert.equal(fragment.key, syncs[0] === 1);
          assert.equal(Math.round((fragment.time + fragment.duration) * VIDEO_TIMESCALE), end);
          if (durations.length > 1) assert.ok(end - durations.at(-1)! - time <= (partMs * VIDEO_TIMESCALE) / 1000);
        }
        assert.deepEqual(seen, shown);
      },
    ),
    { numRuns: 50 },
  );
});

function sounds({ sampleRate = 48_000, partMs = 333 } = {}) {
  const fragments: LiveFragment[] = [];
  return {
    fragments,
    made: createAudioFragments({
      rendition: "audio",
      partMs,
      sampleRate,
      frame: 1024,
      onFragment: (fragment) => fragments.push(fragment),
    }),
  };
}

/** Start and end of each fragment in samples. */
const spans = (fragments: readonly LiveFragment[], rate = 48_000) =>
  fragments.map(({ time, duration }) => [Math.round(time * rate), Math.round((time + duration) * rate)]);

test("counts audio with millisecond packet times in samples: each fragment begins where the previous one ended", () => {
  const { fragments, made } = sounds({ sampleRate: 44_100 });
  for (let i = 0; i < 5000; i++) made.add(Math.round((i * 1024 * 1000) / 44_100) * 1000, Buffer.alloc(4));
  made.end();
  let at = 0;
  for (const [from, to] of spans(fragments, 44_100)) {
    assert.equal(from, at);
    assert.equal((to! - from!) % 1024, 0);
    at = to!;
  }
  assert.equal(at, 5000 * 1024);
  // 14 frames of 23 ms in 333 ms.
  assert.ok(
    spans(fragments, 44_100)
      .slice(0, -1)
      .every(([from = 0, to = 0]) => to - from === 14 * 1024),
  );
});

test("an audio fragment ends with the frame that fills it", () => {
  const { fragments, made } = sounds();
  for (let i = 0; i < 15; i++) {
    assert.equal(fragments.length, 0);
    made.add((i * 1024 * 1_000_000) / 48_000, Buffer.alloc(4));
  }
  assert.deepEqual(spans(fragments), [[0, 15 * 1024]]);
});

for (const ppm of [-300, 300]) {
  test(`follows a clock that is off by ${ppm} ppm for hours without a gap`, () => {
    const { fragments, made } = sounds();
    const frames = 3 * 3600 * (48_000 / 1024);
    let worst = 0;
    let end = 0;
    for (let i = 0; i < frames; i++) {
      const us = ((i * 1024 * 1_000_000) / 48_000) * (1 + ppm / 1_000_000);
      made.add(Math.round(us / 1000) * 1000 + (i % 3) * 2000, Buffer.alloc(0));
      const last = fragments.at(-1);
      if (last === undefined) continue;
      assert.ok(Math.abs(last.time - end) < 1e-6, `${last.time} after ${end}`);
      end = last.time + last.duration;
      fragments.length = 0;
      worst = Math.max(worst, Math.abs(end - (us / 1_000_000 + 1024 / 48_000)));
    }
    // Twice the tolerance, plus half of the packet jitter.
    assert.ok(worst < 0.008, `${worst} s`);
  });
}

test("after a clock jump, audio moves to its correct time and not beyond", () => {
  const { fragments, made } = sounds();
  const off: number[] = [];
  for (let i = 0; i < 3000; i++) {
    const us = (i * 1024 * 1_000_000) / 48_000 + (i < 500 ? 0 : 60_000);
    made.add(us, Buffer.alloc(0));
    if (fragments.length === 0) continue;
    off.push(fragments[0]!.time + fragments[0]!.duration - us / 1_000_000 - 1024 / 48_000);
    fragments.length = 0;
  }
  assert.ok(Math.min(...off) < -0.05);
  assert.ok(
    off.slice(-100).every((seconds) => Math.abs(seconds) < 0.0025),
    String(off.at(-1)),
  );
  assert.ok(Math.max(...off) < 0.0025, String(Math.max(...off)));
});

test("keeps gaps, and drops duplicates", () => {
  const { fragments, made } = sounds();
  const frame = (i: number) => (i * 1024 * 1_000_000) / 48_000;
  for (let i = 0; i < 10; i++) made.add(frame(i), Buffer.alloc(1));
  for (let i = 0; i < 10; i++) made.add(frame(i) + 3_000_000, Buffer.alloc(1));
  // The publisher's clock stopped for a second: these packets have times that audio has already covered.
  for (let i = 0; i < 10; i++) made.add(frame(1) + 3_000_000, Buffer.alloc(1));
  made.end();
  assert.deepEqual(spans(fragments), [
    [0, 10 * 1024],
    [144_000, 144_000 + 10 * 1024],
  ]);
});

test("cuts audio where video is cut, whichever arrives first", () => {
  const { fragments, made } = sounds();
  const frame = (i: number) => (i * 1024 * 1_000_000) / 48_000;
  for (let i = 0; i < 5; i++) made.add(frame(i), Buffer.alloc(1));
  made.cutAt(frame(8) + 3000);
  for (let i = 5; i < 20; i++) made.add(frame(i), Buffer.alloc(1));
  // Before the latest audio: only audio that has not been emitted can be cut.
  made.cutAt(frame(4));
  made.cutAt(frame(20) - 2000);
  made.add(frame(20), Buffer.alloc(1));
  made.end();
  assert.deepEqual(spans(fragments), [
    [0, 8 * 1024],
    [8 * 1024, 20 * 1024],
    [20 * 1024, 21 * 1024],
  ]);
});

/**
 * 30 fps video with a key frame every two seconds, presented 67 ms after decoding; audio packets arrive up to 300 ms
 * earlier.
 */
test("delays early audio until the video arrives, and ends a fragment with nextKey at every key frame", () => {
  const fragments: LiveFragment[] = [];
  const made = createAudioFragments({
    rendition: "audio",
    partMs: 200,
    sampleRate: 48_000,
    frame: 1024,
    followsVideo: true,
    onFragment: (fragment) => fragments.push(fragment),
  });
  let sent = 0;
  for (let picture = 0; picture < 200; picture++) {
    const decoded = (picture * 1_000_000) / 30;
    while ((sent * 1024) / 48_000 < decoded / 1_000_000 + 0.3)
      made.add((sent++ * 1024 * 1_000_000) / 48_000, Buffer.alloc(1));
    if (picture % 60 === 0) made.cutAt(decoded + 67_000);
    made.setVideoTime(decoded);
    const end = fragments.length === 0 ? 0 : fragments.at(-1)!.time + fragments.at(-1)!.duration;
    assert.ok(decoded / 1_000_000 - end < 0.26, `the last fragment ends at ${end} s, decoded up to ${decoded} µs`);
  }
  assert.deepEqual(
    spans(fragments)
      .map(([from]) => from)
      .slice(1),
    spans(fragments)
      .map(([, to]) => to)
      .slice(0, -1),
  );
  const ends = fragments.filter(({ nextKey }) => nextKey !== undefined);
  assert.deepEqual(
    ends.map(({ nextKey }) => nextKey!.toFixed(3)),
    ["2.067", "4.067", "6.067"],
  );
  for (const { time, duration, nextKey } of ends)
    assert.ok(Math.abs(time + duration - nextKey!) <= 512 / 48_000 + 1e-9);
  // Nine frames are 192 ms.
  assert.ok(fragments.every(({ duration, nextKey }) => nextKey !== undefined || Math.abs(duration - 0.192) < 1e-9));
});

test("delays audio for at most two seconds if the video stalls", () => {
  const fragments: LiveFragment[] = [];
  const made = createAudioFragments({
    rendition: "audio",
    partMs: 200,
    sampleRate: 48_000,
    frame: 1024,
    followsVideo: true,
    onFragment: (fragment) => fragments.push(fragment),
  });
  for (let i = 0; i < 470; i++) made.add((i * 1024 * 1_000_000) / 48_000, Buffer.alloc(1));
  const { time, duration } = fragments.at(-1)!;
  assert.ok(time + duration > 7.6, `${time + duration} of 10 s`);
  assert.ok(fragments.every((one) => one.duration <= 0.2));
  made.end();
  assert.equal(spans(fragments).at(-1)![1], 470 * 1024);
});

test("parts have equal frame counts despite timestamps rounded to milliseconds", () => {
  const { fragments, made } = pictures(200);
  for (let i = 0; i < 61; i++)
    made.add({
      time: toVideoTicks(Math.round((i * 1000) / 30) * 1000),
      shift: 0,
      key: i % 60 === 0,
      data: Buffer.from([1]),
    });
  assert.deepEqual(
    fragments.map(({ frames }) => frames),
    Array.from({ length: 10 }, () => 6),
  );
  assert.deepEqual(
    fragments.map(({ nextKey }) => nextKey),
    [...Array.from({ length: 9 }, () => undefined), 2],
  );
});
