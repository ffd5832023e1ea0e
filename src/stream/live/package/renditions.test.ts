import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveFragment } from "../fragments.ts";
import {
  AUDIO_RENDITION,
  createTestBroadcast,
  equalDurations,
  fragmentsOf,
  inOrderOfArrival,
  keyFrameEvery,
  runOf,
  SOURCE,
} from "./package.testing.ts";
import { assertPreloadHintFulfilled } from "./read-playlist.testing.ts";

test("a rendition that stops leaves gaps, and does not delay the others", () => {
  const { broadcast, playlist } = createTestBroadcast();
  const sink = broadcast.run(runOf(1));
  const all = [
    ...fragmentsOf("source", equalDurations(30, 0.5), keyFrameEvery(2)),
    ...fragmentsOf("90p", equalDurations(5, 0.5), keyFrameEvery(2)),
    ...fragmentsOf("audio", equalDurations(30, 0.5), () => true),
  ];
  for (const fragment of inOrderOfArrival(all, {})) sink.fragment(fragment);
  const { segments } = playlist("90p", { range: "dvr" });
  assert.deepEqual(
    segments.map(({ n, gap }) => [n, gap]),
    [
      [0, false],
      [1, false],
      [2, false],
      [3, true],
      [4, true],
      [5, true],
    ],
  );
  assert.equal(segments[2]!.duration, 1);
  assert.deepEqual(
    segments.slice(3).map(({ at, duration }) => [Date.parse(at!) - runOf(1).started, duration]),
    [
      [6000, 2],
      [8000, 2],
      [10_000, 2],
    ],
    "the gaps match the segments of the leading rendition",
  );
  assert.ok(playlist().segments.length >= 13, "the other renditions continue");
});

test("audio continues without video, and an endless GOP is split", () => {
  const alone = createTestBroadcast();
  const sink = alone.broadcast.run(runOf(1, { renditions: [SOURCE, AUDIO_RENDITION] }));
  for (const fragment of inOrderOfArrival(
    [
      ...fragmentsOf("source", equalDurations(4, 0.5), keyFrameEvery(2)),
      ...fragmentsOf("audio", equalDurations(20, 0.5), () => true),
    ],
    {},
  ))
    sink.fragment(fragment);
  assert.ok(alone.playlist("audio").segments.length >= 5);
  sink.end();
  assert.equal(
    alone.broadcast.timeline().segments.reduce((sum, { durations }) => sum + (durations["audio"] ?? 0), 0),
    20,
  );

  const endless = createTestBroadcast();
  const pictures = endless.broadcast.run(runOf(2, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", equalDurations(60, 0.5), (time) => time === 0))
    pictures.fragment(fragment);
  assert.deepEqual(
    endless.playlist().segments.map(({ duration }) => duration),
    [20.5, 20.5],
  );
});

test("audio segments end where video segments end, and their program dates use the same clock", () => {
  const { broadcast, playlist } = createTestBroadcast();
  const run = runOf(1, { renditions: [SOURCE, AUDIO_RENDITION] });
  const sink = broadcast.run(run);
  const frame = 1024 / 44_100;
  // B-frames: frames are presented 80 ms after decoding, and audio is cut at the frame nearest to the key frame.
  const video = fragmentsOf("source", equalDurations(9, 0.2), keyFrameEvery(2)).map((one) => ({
    ...one,
    offset: 0.08,
    ...(one.nextKey !== undefined && { nextKey: one.nextKey + 0.08 }),
  }));
  const audio: LiveFragment[] = [];
  for (let at = 0, key = 2.08; at < 9;) {
    const frames = Math.min(8, Math.max(1, Math.round((key - at) / frame)));
    const ends = Math.abs(at + frames * frame - key) <= frame / 2 + 1e-9;
    audio.push({
      rendition: "audio",
      time: at,
      duration: frames * frame,
      key: true,
      bytes: Buffer.from("a"),
      ...(ends && { nextKey: key }),
    });
    at += frames * frame;
    if (ends) key += 2;
  }
  const hints: string[] = [];
  for (const fragment of inOrderOfArrival([...video, ...audio], {})) {
    const before = playlist("audio");
    sink.fragment(fragment);
    assertPreloadHintFulfilled(before, playlist("audio"));
    if (before.hint !== undefined) hints.push(before.hint);
  }
  assert.ok(new Set(hints).size > 30);
  const [sound, pictures] = [playlist("audio").segments, playlist("source").segments];
  assert.equal(sound.length, pictures.length);
  let at = 0;
  for (const [i, segment] of sound.entries()) {
    assert.ok(
      Math.abs(Date.parse(segment.at!) - run.started - at * 1000) <= 0.5,
      `segment ${i} begins at ${at} and is dated ${segment.at}`,
    );
    assert.equal(Date.parse(pictures[i]!.at!) - run.started, i * 2000 + 80);
    if (i > 0) assert.ok(Math.abs(at - i * 2 - 0.08) <= frame / 2 + 1e-6, `segment ${i} begins at ${at}`);
    at += segment.duration;
  }
});
