import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { audioFrames } from "../encode/audio-grid.ts";
import { firstRung, type MediaModel, type VideoRendition } from "../model.ts";
import { dashPresentation } from "./dash.ts";
import { hlsMediaPlaylist, hlsMultivariantPlaylist } from "./hls.ts";
import { ntscModel } from "./playback.testing.ts";
import { nearestToHint, type PlayableVideo, playableVideoOf, playbackSeconds } from "./tracks.ts";

const RATES = [
  [24_000, 1001],
  [24, 1],
  [25, 1],
  [30_000, 1001],
  [30, 1],
  [50, 1],
  [60_000, 1001],
  [60, 1],
] as const;

/** Up to eleven hours at any standard frame rate. */
const models = fc
  .record({ rate: fc.constantFrom(...RATES), share: fc.double({ min: 0, max: 1, noNaN: true }) })
  .map(({ rate: [num, den], share }): MediaModel => {
    const framesPerSegment = Math.round((4 * num) / den);
    const frames = 1 + Math.floor(share ** 4 * ((39_600 * num) / den));
    return ntscModel({
      segments: { fps: { num, den }, framesPerSegment, frames, count: Math.ceil(frames / framesPerSegment) },
    });
  });
const playable = (model: MediaModel): PlayableVideo => ({
  model,
  audio: [{ rendition: "audio", name: "Original", default: true, autoselect: true }],
  text: [],
  complete: true,
});

test("HLS and DASH list the same segments, which cover the whole video, for every length and frame rate", () => {
  fc.assert(
    fc.property(models, (model) => {
      const seconds = playbackSeconds(model);
      const { count, fps } = model.segments;
      for (const [rendition, rest] of [
        ["180p", 0],
        ["audio", 1024 / 48_000],
      ] as const) {
        const lengths = [...hlsMediaPlaylist(playable(model), rendition)!.matchAll(/^#EXTINF:([\d.]+),$/gm)].map(
          ([, value]) => Number(value),
        );
        assert.equal(lengths.length, count);
        const sum = lengths.reduce((a, b) => a + b, 0);
        assert.ok(sum > seconds - 0.01 && sum < seconds + rest + 0.01, `${rendition}: ${sum} s of ${seconds}`);
        assert.ok(lengths.every((length) => length > 0 && length <= 4.03));
      }
      const mpd = dashPresentation(playable(model));
      const timelines = mpd
        .split("<SegmentTimeline>")
        .slice(1)
        .map((part) =>
          [...part.split("</SegmentTimeline>")[0]!.matchAll(/d="(\d+)"(?: r="(\d+)")?/g)].map(([, d, r]) => ({
            d: Number(d),
            n: Number(r ?? 0) + 1,
          })),
        );
      assert.equal(timelines.length, 2);
      for (const timeline of timelines) {
        assert.equal(
          timeline.reduce((sum, { n }) => sum + n, 0),
          count,
        );
        assert.equal(
          timeline.reduce((sum, { d, n }) => sum + d * n, 0),
          model.segments.frames * fps.den,
        );
      }
      const whole = Number(/mediaPresentationDuration="PT([\d.]+)S"/.exec(mpd)![1]);
      const { first, count: left } = audioFrames(model.segments, count - 1);
      assert.ok(
        Math.abs(whole - ((first + left) * 1024) / 48_000) < 0.002 &&
          whole > ((first + left) * 1024) / 48_000 &&
          whole > seconds,
        "slightly longer than the longest track",
      );
    }),
    { numRuns: 60 },
  );
});

const rung = (name: string, width: number, height: number, more: Partial<VideoRendition> = {}): VideoRendition => ({
  name,
  codec: "h264",
  width,
  height,
  bitrate: 1_000_000,
  ...more,
});

test("players start with 360p, or the next one below it, in the most widely supported codec", () => {
  const names = (ladder: VideoRendition[]) => firstRung(ladder)?.name;
  assert.equal(
    names([
      rung("240p", 426, 240),
      rung("360p", 640, 360),
      rung("360p-av1", 640, 360, { codec: "av1" }),
      rung("720p", 1280, 720),
    ]),
    "360p",
  );
  assert.equal(names([rung("240p", 240, 426), rung("480p", 480, 854)]), "240p", "the short side of a portrait video");
  assert.equal(names([rung("1080p", 1920, 1080)]), "1080p");
  const text = hlsMultivariantPlaylist(
    playable(
      ntscModel({
        ladder: [
          rung("240p", 426, 240),
          rung("360p", 640, 360),
          rung("360p-hevc", 640, 360, { codec: "hevc" }),
          rung("360p-av1", 640, 360, { codec: "av1" }),
        ],
      }),
    ),
  );
  assert.deepEqual(
    text.split("\n").filter((line) => line.endsWith(".m3u8")),
    ["360p.m3u8", "240p.m3u8", "360p-hevc.m3u8", "360p-av1.m3u8"],
  );
  for (const codec of ["avc1.", "hvc1.", "av01."]) assert.ok(text.includes(`CODECS="${codec}`));
});

test("renditions at half the frame rate declare that rate", () => {
  const model = ntscModel({
    segments: { fps: { num: 60_000, den: 1001 }, framesPerSegment: 240, frames: 600, count: 3 },
    ladder: [rung("240p", 426, 240, { halved: true }), rung("720p", 1280, 720)],
  });
  assert.deepEqual(
    [...hlsMultivariantPlaylist(playable(model)).matchAll(/FRAME-RATE=([\d.]+)/g)].map(([, rate]) => rate),
    ["29.970", "59.940"],
  );
  assert.deepEqual(
    [...dashPresentation(playable(model)).matchAll(/frameRate="([\d/]+)"/g)].map(([, rate]) => rate),
    ["30000/1001", "60000/1001"],
  );
});

test("renditions of a different codec have their own AdaptationSet, because players do not change codecs within one", () => {
  const mpd = dashPresentation(
    playable(
      ntscModel({
        ladder: [rung("360p", 640, 360), rung("360p-av1", 640, 360, { codec: "av1" }), rung("720p", 1280, 720)],
      }),
    ),
  );
  const sets = mpd
    .split("<AdaptationSet")
    .slice(1)
    .map((set) => [...set.matchAll(/<Representation id="([^"]+)"/g)].map(([, id]) => id));
  assert.deepEqual(sets, [["360p", "720p"], ["360p-av1"], ["audio"]]);
});

test("the hint selects the nearest rendition, and never removes the last one", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 20_000_000 }), { minLength: 1, maxLength: 8 }),
      fc.double({ min: 0.001, max: 30, noNaN: true }),
      (all, hint) => {
        const [best, ...more] = nearestToHint(all, String(hint), (one) => one);
        assert.equal(more.length, 0);
        assert.ok(all.every((one) => Math.abs(one - hint * 1e6) >= Math.abs(best! - hint * 1e6)));
      },
    ),
  );
  assert.deepEqual(
    nearestToHint([], "1", () => 1),
    [],
  );
});

test("audio renditions have LANGUAGE, and the first of each language has AUTOSELECT=YES", async () => {
  const model = ntscModel();
  const track = (uid: string, language?: string) => ({
    uid,
    label: `track ${uid}`,
    default: false,
    ...(language !== undefined && { language }),
  });
  const video = { uid: "0".repeat(32), state: "ready" } as Parameters<typeof playableVideoOf>[0];
  const tracks = { audio: { of: async () => [track("1", "de"), track("2", "de"), track("3")] } };
  const playlist = hlsMultivariantPlaylist(await playableVideoOf(video, model, tracks));
  const audio = playlist
    .split("\n")
    .filter((line) => line.startsWith("#EXT-X-MEDIA:TYPE=AUDIO"))
    .map((line) => [
      /NAME="([^"]+)"/.exec(line)![1],
      /LANGUAGE="([^"]+)"/.exec(line)?.[1],
      /AUTOSELECT=(\w+)/.exec(line)?.[1] ?? "NO",
    ]);
  assert.deepEqual(
    audio.filter(([name]) => name !== "Original"),
    [
      ["track 1", "de", "YES"],
      ["track 2", "de", "NO"],
      ["track 3", undefined, "NO"],
    ],
  );
});
