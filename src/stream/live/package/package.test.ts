import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { LiveFragment } from "../fragments.ts";
import { createBroadcast } from "./broadcast.ts";
import {
  assertFollows,
  assertValid,
  fragmentsOf,
  readPlaylist,
  type ParsedPlaylist,
  runOf,
  SMALL,
  AUDIO_RENDITION,
  SOURCE,
} from "./package.testing.ts";
import { type PlaylistRange, mediaPlaylist } from "./playlists.ts";
import type { CutSegment } from "./port.ts";

const EXTENTS: PlaylistRange[] = [
  { range: "window" },
  { range: "window", lowLatency: true },
  { range: "dvr", lowLatency: true, skip: true },
  { range: "dvr" },
];
const NAMES = ["source", "90p", "audio"];

function world({ segmentSeconds = 2, partSeconds = 0.333 } = {}) {
  const cuts: CutSegment[] = [];
  const broadcast = createBroadcast({
    video: "f".repeat(32),
    segmentSeconds,
    partSeconds,
    onSegment: (cut) => cuts.push(cut),
    onEnd() {},
  });
  const playlist = (rendition = "source", extent: PlaylistRange = { range: "window", lowLatency: true }) =>
    readPlaylist(
      mediaPlaylist(
        { timeline: broadcast.timeline(), recent: broadcast.recent },
        rendition,
        extent,
        { targetDuration: broadcast.targetDuration, partTarget: broadcast.partTargets.of(rendition), dvrSeconds: 60 },
        { others: NAMES.filter((name) => name !== rendition), query: "?protocol=llhls" },
      ).text,
    );
  return { broadcast, cuts, playlist };
}

/** Returns fragments in order of arrival: by end time, delayed by `delay` seconds. */
const interleaved = (fragments: LiveFragment[], delays: Record<string, number>) =>
  fragments
    .map((one, index) => ({ one, index, ready: one.time + one.duration + (delays[one.rendition] ?? 0) }))
    .sort((a, b) => a.ready - b.ready || a.index - b.index)
    .map(({ one }) => one);
const steady = (seconds: number, length: number) => Array.from({ length: Math.round(seconds / length) }, () => length);
const every = (seconds: number) => (time: number) => Math.abs(time / seconds - Math.round(time / seconds)) < 1e-6;

test("a steady broadcast has segments of two seconds and parts of eight frames, cut at the same times in all renditions", () => {
  const { broadcast, cuts, playlist } = world();
  const sink = broadcast.run(runOf(1));
  const all = [
    ...fragmentsOf("source", steady(9, 0.04), every(2)),
    ...fragmentsOf("90p", steady(9, 0.04), every(2)),
    ...fragmentsOf("audio", steady(9, 1024 / 48_000), () => true),
  ];
  for (const fragment of interleaved(all, { "90p": 0.3 })) sink.fragment(fragment);
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
  const { broadcast, cuts, playlist } = world();
  for (const number of [1, 2]) {
    const sink = broadcast.run(
      runOf(number, { renditions: number === 1 ? [SOURCE, SMALL, AUDIO_RENDITION] : [SOURCE, AUDIO_RENDITION] }),
    );
    for (const fragment of interleaved(
      [
        ...fragmentsOf("source", steady(5, 0.2), every(2)),
        ...fragmentsOf("audio", steady(5, 0.2), () => true),
        ...(number === 1 ? fragmentsOf("90p", steady(5, 0.2), every(2)) : []),
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
  const first = world();
  const sink = first.broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", steady(4, 0.5), every(2))) sink.fragment(fragment);
  sink.end();
  const second = createBroadcast({
    video: "f".repeat(32),
    timeline: first.broadcast.timeline(),
    segmentSeconds: 2,
    partSeconds: 0.333,
    onEnd() {},
  });
  const again = second.run(runOf(2, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", steady(4.5, 0.5), every(2))) again.fragment(fragment);
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

test("a rendition that stops leaves gaps, and does not delay the others", () => {
  const { broadcast, playlist } = world();
  const sink = broadcast.run(runOf(1));
  const all = [
    ...fragmentsOf("source", steady(30, 0.5), every(2)),
    ...fragmentsOf("90p", steady(5, 0.5), every(2)),
    ...fragmentsOf("audio", steady(30, 0.5), () => true),
  ];
  for (const fragment of interleaved(all, {})) sink.fragment(fragment);
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
  const alone = world();
  const sink = alone.broadcast.run(runOf(1, { renditions: [SOURCE, AUDIO_RENDITION] }));
  for (const fragment of interleaved(
    [...fragmentsOf("source", steady(4, 0.5), every(2)), ...fragmentsOf("audio", steady(20, 0.5), () => true)],
    {},
  ))
    sink.fragment(fragment);
  assert.ok(alone.playlist("audio").segments.length >= 5);
  sink.end();
  assert.equal(
    alone.broadcast.timeline().segments.reduce((sum, { durations }) => sum + (durations["audio"] ?? 0), 0),
    20,
  );

  const endless = world();
  const pictures = endless.broadcast.run(runOf(2, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", steady(60, 0.5), (time) => time === 0)) pictures.fragment(fragment);
  assert.deepEqual(
    endless.playlist().segments.map(({ duration }) => duration),
    [20.5, 20.5],
  );
});

test("keeps only the latest segments of an hour-long broadcast, to bound memory", () => {
  const { broadcast, playlist } = world();
  const sink = broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (const fragment of fragmentsOf("source", steady(3600, 1), every(2))) sink.fragment(fragment);
  assert.deepEqual(
    [playlist("source", { range: "window" }).sequence, playlist("source", { range: "dvr" }).sequence],
    [1784, 1769],
    "a window of half a minute, and a DVR window of one minute",
  );
  assert.ok(broadcast.recent.of("source").length <= 15);
  assert.equal(broadcast.timeline().segments.length, 1799);
});

test("bounds memory even if the video clock does not advance", () => {
  const { broadcast } = world();
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
  const { broadcast, playlist } = world();
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

test("any input produces valid playlists consistent with the previous ones, and no octet is lost", () => {
  const durations = fc.array(
    fc.integer({ min: 10, max: 400 }).map((ms) => ms / 1000),
    { minLength: 1, maxLength: 60 },
  );
  const shape = fc.record({
    video: durations,
    audio: durations,
    keys: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    delays: fc.record({
      "90p": fc.double({ min: 0, max: 3, noNaN: true }),
      audio: fc.double({ min: -3, max: 3, noNaN: true }),
    }),
    small: fc.boolean(),
    offset: fc.double({ min: -0.5, max: 0.5, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 3 }), fc.constantFrom(1, 2), (runs, segmentSeconds) => {
      const { broadcast, cuts, playlist } = world({ segmentSeconds });
      const before = new Map<string, ParsedPlaylist>();
      const look = () => {
        for (const [index, extent] of EXTENTS.entries()) {
          for (const name of NAMES) {
            const now = playlist(name, extent);
            assertValid(now);
            const old = before.get(`${index}/${name}`);
            if (old !== undefined) assertFollows(old, now);
            // Audio hints hold only for fragments cut at frames; in this test audio fragments have arbitrary lengths.
            if (old !== undefined && name !== "audio") assertHintCameTrue(old, now);
            before.set(`${index}/${name}`, now);
          }
        }
      };
      const fed = new Map<string, string>();
      for (const [number, { video, audio, keys, delays, small, offset }] of runs.entries()) {
        const sink = broadcast.run(
          runOf(number + 1, { renditions: small ? [SOURCE, SMALL, AUDIO_RENDITION] : [SOURCE, AUDIO_RENDITION] }),
        );
        const isKey = (_time: number, index: number) => index === 0 || keys[index % keys.length]!;
        const label = `${number}/`;
        const all = [
          ...fragmentsOf("source", video, isKey, { from: 1, label }),
          ...(small ? fragmentsOf("90p", video, isKey, { from: 1, label }) : []),
          ...fragmentsOf("audio", audio, () => true, { from: 1 + offset, label }),
        ];
        for (const fragment of interleaved(all, delays)) {
          sink.fragment(fragment);
          fed.set(fragment.rendition, (fed.get(fragment.rendition) ?? "") + fragment.bytes.toString());
          look();
        }
        sink.end();
        look();
      }
      broadcast.end();
      look();
      for (const name of NAMES)
        assert.equal(cuts.flatMap(({ bytes }) => bytes[name] ?? []).join(""), fed.get(name) ?? "", name);
      assert.deepEqual(
        cuts.map(({ segment }) => segment),
        broadcast.timeline().segments,
      );
      assert.deepEqual(
        broadcast.timeline().segments.map(({ n }) => n),
        cuts.map((_, n) => n),
      );
    }),
    {
      numRuns: 40,
      // The last run adds a segment long enough to raise the target duration.
      examples: [
        [
          [
            { video: [0.01], audio: [0.01], keys: [false], delays: { "90p": 0, audio: 0 }, small: false, offset: 0 },
            {
              video: [0.097, 0.266, 0.166, 0.236, 0.162, 0.057, 0.229, 0.25, 0.11],
              audio: [0.01],
              keys: [true],
              delays: { "90p": 0, audio: 0 },
              small: false,
              offset: 0,
            },
            {
              video: [0.104, 0.208, 0.17, 0.248, 0.359, 0.338, 0.073],
              audio: [0.01],
              keys: [false],
              delays: { "90p": 0, audio: 0 },
              small: false,
              offset: 0,
            },
          ],
          1,
        ],
      ],
    },
  );
});

function assertHintCameTrue(before: ParsedPlaylist, after: ParsedPlaylist): void {
  if (before.hint === undefined || after.ended) return;
  const partsOf = ({ segments, open }: ParsedPlaylist) =>
    [...segments.flatMap(({ parts }) => parts), ...open].map(({ uri }) => uri);
  const known = new Set(partsOf(before));
  const parts = partsOf(after);
  // Parts of older segments are listed again when the target duration grows, because parts are listed for three target
  // durations.
  const next = parts[parts.findLastIndex((uri) => known.has(uri)) + 1];
  if (next !== undefined) assert.equal(next, before.hint);
}

test("audio segments end where video segments end, and their program dates use the same clock", () => {
  const { broadcast, playlist } = world();
  const run = runOf(1, { renditions: [SOURCE, AUDIO_RENDITION] });
  const sink = broadcast.run(run);
  const frame = 1024 / 44_100;
  // B-frames: frames are presented 80 ms after decoding, and audio is cut at the frame nearest to the key frame.
  const video = fragmentsOf("source", steady(9, 0.2), every(2)).map((one) => ({
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
  for (const fragment of interleaved([...video, ...audio], {})) {
    const before = playlist("audio");
    sink.fragment(fragment);
    assertHintCameTrue(before, playlist("audio"));
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
