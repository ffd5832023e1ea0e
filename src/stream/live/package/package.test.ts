import assert from "node:assert/strict";
import { test } from "node:test";
import { createBroadcast } from "./broadcast.ts";
import {
  AUDIO_RENDITION,
  createTestBroadcast,
  equalDurations,
  fragmentsOf,
  inOrderOfArrival,
  keyFrameEvery,
  runOf,
  SMALL,
  SOURCE,
} from "./package.testing.ts";
import { assertValid } from "./read-playlist.testing.ts";

test("a steady broadcast has segments of two seconds and parts of eight frames, cut at the same times in all renditions", () => {
  const { broadcast, cuts, playlist } = createTestBroadcast();
  const sink = broadcast.run(runOf(1));
  const all = [
    ...fragmentsOf("source", equalDurations(9, 0.04), keyFrameEvery(2)),
    ...fragmentsOf("90p", equalDurations(9, 0.04), keyFrameEvery(2)),
    ...fragmentsOf("audio", equalDurations(9, 1024 / 48_000), () => true),
  ];
  for (const fragment of inOrderOfArrival(all, { "90p": 0.3 })) sink.fragment(fragment);
  const { segments, open, target, partTarget, hint, reports, control } = playlist();
  assert.deepEqual([target, partTarget, segments.length, open.length], [2, 0.33, 4, 3]);
  assert.deepEqual(
    segments.map(({ duration, at }) => [duration, at]),
    [0, 2, 4, 6].map((at) => [2, new Date(runOf(1).started + at * 1000).toISOString()]),
  );
  assert.deepEqual(
    segments.at(-1)!.parts.map(({ duration, independent }) => [duration, independent]),
    [
      [0.32, true],
      [0.32, false],
      [0.32, false],
      [0.32, false],
      [0.32, false],
      [0.32, false],
      [0.08, false],
    ],
  );
  assert.equal(segments.at(-1)!.parts[2]!.uri, "../segments/source/3.2.m4s");
  assert.equal(hint, "../segments/source/4.3.m4s");
  assert.deepEqual(control, { "CAN-BLOCK-RELOAD": "YES", "HOLD-BACK": "6.000", "PART-HOLD-BACK": "0.990" });
  assert.deepEqual(reports, [
    { URI: "90p.m3u8?protocol=llhls", "LAST-MSN": "4", "LAST-PART": "2" },
    { URI: "audio.m3u8?protocol=llhls", "LAST-MSN": "4", "LAST-PART": "2" },
  ]);
  let received = 0;
  for (const { n, duration } of playlist("audio").segments)
    assert.ok(Math.abs((received += duration) - 2 * (n + 1)) <= 512 / 48_000, `audio ends at ${received}`);
  assert.deepEqual(
    cuts.map(({ segment }) => [segment.n, segment.run, segment.start]),
    [
      [0, 0, 0],
      [1, 0, 2],
      [2, 0, 4],
      [3, 0, 6],
    ],
  );
  assert.equal(
    Buffer.concat(cuts[1]!.bytes["90p"]!).toString(),
    Array.from({ length: 50 }, (_, i) => `90p:${50 + i};`).join(""),
  );
});

test("a reconnected publisher continues the media sequence numbers, with a discontinuity and a new init segment", () => {
  const { broadcast, cuts, playlist } = createTestBroadcast();
  for (const number of [1, 2]) {
    const sink = broadcast.run(
      runOf(number, { renditions: number === 1 ? [SOURCE, SMALL, AUDIO_RENDITION] : [SOURCE, AUDIO_RENDITION] }),
    );
    for (const fragment of inOrderOfArrival(
      [
        ...fragmentsOf("source", equalDurations(5, 0.2), keyFrameEvery(2)),
        ...fragmentsOf("audio", equalDurations(5, 0.2), () => true),
        ...(number === 1 ? fragmentsOf("90p", equalDurations(5, 0.2), keyFrameEvery(2)) : []),
      ],
      {},
    ))
      sink.fragment(fragment);
    sink.end();
    assert.equal(playlist().hint, undefined, "the next segment is unknown");
  }
  const { segments } = playlist();
  assert.deepEqual(
    segments.map(({ n, discontinuity, duration }) => [n, discontinuity, duration]),
    [
      [0, 0, 2],
      [1, 0, 2],
      [2, 0, 1],
      [3, 1, 2],
      [4, 1, 2],
      [5, 1, 1],
    ],
  );
  assert.deepEqual(
    new Set(segments.map(({ init }) => init)),
    new Set([1, 2].map((n) => `../segments/source/init-${runOf(n).id}.mp4`)),
  );
  const small = playlist("90p");
  assert.deepEqual(
    small.segments.map(({ gap }) => gap),
    [false, false, false, true, true, true],
  );
  assertValid(small);
  broadcast.end();
  assert.ok(playlist().ended);
  assert.equal(broadcast.timeline().ended, true);
  assert.deepEqual(
    broadcast.timeline().runs.map(({ id }) => id),
    [runOf(1).id, runOf(2).id],
  );
  assert.deepEqual(
    cuts.map(({ run, segment }) => [run, segment.run]),
    [1, 1, 1, 2, 2, 2].map((number) => [runOf(number).id, number - 1]),
  );
});

test("a process that continues the timeline of another process continues its media sequence numbers", () => {
  const first = createTestBroadcast();
  const sink = first.broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", equalDurations(4, 0.5), keyFrameEvery(2))) sink.fragment(fragment);
  sink.end();
  const second = createBroadcast({
    video: "f".repeat(32),
    timeline: first.broadcast.timeline(),
    segmentSeconds: 2,
    partSeconds: 0.333,
    onEnd() {},
  });
  const again = second.run(runOf(2, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", equalDurations(4.5, 0.5), keyFrameEvery(2))) again.fragment(fragment);
  assert.deepEqual(
    second.timeline().segments.map(({ n, run }) => [n, run]),
    [
      [0, 0],
      [1, 0],
      [2, 1],
      [3, 1],
    ],
  );
  assert.equal(first.broadcast.timeline().segments.length, 2, "an earlier snapshot does not change");
});

test("keeps only the latest segments of an hour-long broadcast, to bound memory", () => {
  const { broadcast, playlist } = createTestBroadcast();
  const sink = broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", equalDurations(3600, 1), keyFrameEvery(2))) sink.fragment(fragment);
  assert.deepEqual(
    [playlist("source", { range: "window" }).sequence, playlist("source", { range: "dvr" }).sequence],
    [1784, 1769],
    "a window of half a minute, and a DVR window of one minute",
  );
  assert.ok(broadcast.recent.of("source").length <= 15);
  assert.equal(broadcast.timeline().segments.length, 1799);
});

test("bounds memory even if the video clock does not advance", () => {
  const { broadcast } = createTestBroadcast();
  const sink = broadcast.run(runOf(1, { renditions: [SOURCE] }));
  const bytes = Buffer.alloc(1024 * 1024);
  for (let n = 0; n < 1000; n++)
    sink.fragment({ rendition: "source", time: n / 90_000, duration: 1 / 90_000, key: true, bytes });
  const inMemory = broadcast.recent
    .of("source")
    .flatMap(({ parts }) => parts)
    .reduce((sum, { size }) => sum + size, 0);
  assert.ok(
    broadcast.timeline().segments.length >= 10 && inMemory <= 400 * bytes.length,
    `${broadcast.timeline().segments.length} segments, ${inMemory} octets`,
  );
});

test("computes the target duration from the written durations, because a sum just below half a second is written as half a second", () => {
  const { broadcast, playlist } = createTestBroadcast();
  const sink = broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf(
    "source",
    [0.151, 0.256, 0.279, 0.193, 0.108, 0.32, 0.363, 0.307, 0.331, 0.045, 0.147],
    (time) => time === 0,
  ))
    sink.fragment(fragment);
  sink.end();
  assert.ok(broadcast.timeline().segments[0]!.durations["source"]! < 2.5);
  assertValid(playlist());
  const again = createBroadcast({
    video: "f".repeat(32),
    timeline: broadcast.timeline(),
    segmentSeconds: 2,
    partSeconds: 0.333,
    onEnd() {},
  });
  assert.deepEqual([broadcast.targetDuration, again.targetDuration], [3, 3]);
});
