import assert from "node:assert/strict";
import { test } from "node:test";
import { AAC, clip, type ClipRecipe, mediaClips, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { readFragments } from "../../protocol/mp4/index.ts";
import { MAIN_AUDIO, type MediaModel } from "../model.ts";
import { audioFrameCount } from "./audio-grid.ts";
import { modelOf, openEncoder, samples } from "./encode.testing.ts";

/** A rising tone: the signal is different at every moment, and a bad seam is audible as a click. */
const SWEEP =
  "aevalsrc=exprs='0.5*sin(2*PI*(200*t+60*t*t))|0.5*sin(2*PI*(300*t+40*t*t))':sample_rate=48000:duration=10";
const sweep = (audio: string[], more: ClipRecipe = {}): ClipRecipe => ({
  inputs: ["-f", "lavfi", "-i", SWEEP],
  video: false,
  audio,
  extension: "mov",
  ...more,
});
const PCM = ["-c:a", "pcm_s16le"];

const grid = (seconds: number, segmentSeconds: number, source: Partial<MediaModel["source"]> = {}) => {
  const { video: _, ...rest } = modelOf({ seconds, fps: { num: 25, den: 1 }, segmentSeconds, ladder: [] });
  return { ...rest, audio: { ...rest.audio!, stream: 0, codec: "pcm_s16le", passthrough: false }, source };
};

/** Signal-to-noise ratio in dB of samples [from, to), `a` against `b`. */
function snr(a: Float32Array, b: Float32Array, from: number, to: number): number {
  let signal = 0;
  let noise = 0;
  for (let i = Math.max(0, from); i < Math.min(to, a.length, b.length); i++) {
    signal += b[i]! ** 2;
    noise += (a[i]! - b[i]!) ** 2;
  }
  return 10 * Math.log10(signal / Math.max(noise, 1e-12));
}

test(
  "audio segments encoded in any order keep their position and have no clicks at the seams",
  needsFfmpeg,
  async (t) => {
    for (const [audio, least] of [
      [PCM, 20],
      [["-c:a", "pcm_s16le", "-ar", "44100"], 20],
      [["-c:a", "aac", "-b:a", "192k"], 18],
    ] as const) {
      const path = await clip(sweep([...audio]));
      const { video, whole, segments } = await openEncoder(t);
      const of = await video(path, grid(10, 1));
      // Requested one by one, so that every seam is between two runs.
      for (const n of [9, 3, 0, 7, 5, 8, 1, 2, 6, 4])
        await segments.encodeMissingAudio(of, MAIN_AUDIO, [n], { signal: new AbortController().signal });
      const made = await samples(await whole(of, MAIN_AUDIO));
      const source = await samples(path);
      assert.equal(made.length, audioFrameCount(of.model!.segments) * 1024);
      const everywhere = snr(made, source, 4800, 470_000);
      assert.ok(everywhere > least, `${audio.join(" ")}: ${everywhere}`);
      for (let n = 1; n < 10; n++) {
        const seam = n * 48_000;
        assert.ok(
          snr(made, source, seam - 2048, seam + 2048) > everywhere - 4,
          `${audio.join(" ")}: seam ${n}: ${snr(made, source, seam - 2048, seam + 2048)} of ${everywhere}`,
        );
      }
    }
  },
);

/** Two clicks, starting at 5 ms and at 1 s, each consisting of 2 ms of a tone. */
const CLICKS =
  "aevalsrc=exprs='0.7*sin(2*PI*1500*t)*(between(t,0.005,0.007)+between(t,1,1.002))':sample_rate=48000:duration=4";
const click = (audio: string[]) => sweep(audio, { inputs: ["-f", "lavfi", "-i", CLICKS] });
/** Samples positioned by timestamp: libavformat places the priming frame before time zero. */
const BY_TIME = ["-copyts", "-af", "aresample=async=1:min_comp=0.00001:min_hard_comp=0.01:first_pts=0"];
const energy = (of: Float32Array, from: number, to: number) =>
  of.subarray(from * 48, to * 48).reduce((sum, one) => sum + one ** 2, 0);
/** Returns the time, in milliseconds, by which half of the energy of [from, to) has passed. */
function clickAt(of: Float32Array, from: number, to: number): number {
  const half = energy(of, from, to) / 2;
  let sum = 0;
  for (let i = from * 48; i < to * 48; i++) if ((sum += of[i]! ** 2) >= half) return i / 48;
  return NaN;
}

test("keeps a click in the first 10 ms of the source, at its position", needsFfmpeg, async (t) => {
  for (const audio of [PCM, ["-c:a", "aac", "-b:a", "192k"]]) {
    const path = await clip(click(audio));
    const { video, whole, segments } = await openEncoder(t);
    const of = await video(path, { ...grid(4, 1), primedAudio: true });
    for (const n of [3, 0, 2, 1])
      await segments.encodeMissingAudio(of, MAIN_AUDIO, [n], { signal: new AbortController().signal });
    const [made, source] = [await samples(await whole(of, MAIN_AUDIO), BY_TIME), await samples(path)];
    const share = energy(made, 0, 10) / energy(source, 0, 10);
    assert.ok(share > 0.8 && share < 1.2, `${audio[1]}: ${share} of the energy of the first 10 ms`);
    for (const [from, to] of [
      [0, 20],
      [990, 1020],
    ] as const) {
      const [at, expected] = [clickAt(made, from, to), clickAt(source, from, to)];
      assert.ok(Math.abs(at - expected) < 1, `${audio[1]}: click at ${at} ms, in the source at ${expected} ms`);
    }
    assert.equal(made.length, audioFrameCount(of.model!.segments) * 1024);
  }
});

test(
  "audio for a model from an earlier version has neither a priming frame nor an edit list",
  needsFfmpeg,
  async (t) => {
    const { video, bytesOf } = await openEncoder(t);
    const path = await clip(click(PCM));
    const fragmentOf = async (more: Partial<MediaModel>, n: number) => {
      const of = await video(path, { ...grid(4, 1), ...more });
      const bytes = await bytesOf(of, MAIN_AUDIO, n);
      const [fragment] = await readFragments(
        async (start, length) => bytes.subarray(start, start + length),
        bytes.length,
      );
      return [fragment!.time, fragment!.count, (await bytesOf(of, MAIN_AUDIO, "init")).includes("elst")];
    };
    assert.deepEqual(await fragmentOf({}, 0), [0, 48, false]);
    assert.deepEqual(await fragmentOf({}, 1), [48 * 1024, 49, false]);
    assert.deepEqual(await fragmentOf({ primedAudio: true }, 0), [0, 49, true]);
    assert.deepEqual(await fragmentOf({ primedAudio: true }, 1), [49 * 1024, 49, true]);
  },
);

test("a request for audio also encodes the following segments in the same encoder run", needsFfmpeg, async (t) => {
  const { video, segments, runs, bytesOf } = await openEncoder(t);
  const of = await video(await clip(sweep(PCM)), grid(10, 1));
  for (const n of [1, 2, 3]) await segments.get(of, MAIN_AUDIO, n, { lookahead: false });
  assert.equal(runs.length, 1);
  assert.equal((await bytesOf(of, MAIN_AUDIO, "init")).toString("latin1").includes("mp4a"), true);
  await segments.get(of, MAIN_AUDIO, 0, { lookahead: false });
  assert.equal(runs.length, 2);
});

test(
  "silence replaces missing audio: before audio that starts late, in gaps, and up to the end of the video",
  needsFfmpeg,
  async (t) => {
    const path = await clip({ ...mediaClips.plain, seconds: 2 });
    const late = await clip({
      inputs: [
        "-i",
        await clip({ seconds: 6, audio: false }),
        "-itsoffset",
        "1.5",
        "-i",
        path,
        "-map",
        "0:v",
        "-map",
        "1:a",
      ],
      audio: AAC,
    });
    const { video, whole, segments } = await openEncoder(t);
    const of = await video(late, modelOf({ seconds: 6, segmentSeconds: 1 }));
    for (const n of [5, 3, 1, 2, 0, 4])
      await segments.encodeMissingAudio(of, MAIN_AUDIO, [n], { signal: new AbortController().signal });
    const made = await samples(await whole(of, MAIN_AUDIO));
    const loudest = (from: number, to: number) => Math.max(...made.subarray(from * 48_000, to * 48_000).map(Math.abs));
    assert.ok(
      loudest(0, 1.4) < 0.01 && loudest(1.6, 3.4) > 0.05 && loudest(3.6, 6) < 0.01,
      [loudest(0, 1.4), loudest(1.6, 3.4), loudest(3.6, 6)].join(" "),
    );
  },
);

test("audio of a clip starts with the clip, and players encounter no gap in it", needsFfmpeg, async (t) => {
  const path = await clip(sweep(PCM));
  const { video, whole } = await openEncoder(t);
  const of = await video(path, grid(4, 1, { start: 3.21 }));
  const made = await whole(of, MAIN_AUDIO);
  assert.ok(snr(await samples(made), await samples(path, ["-ss", "3.21"]), 4800, 180_000) > 18);
  const stamps = (await runFfmpeg(["-show_entries", "packet=pts,duration", "-of", "csv=p=0", made], "ffprobe"))
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split(",").map(Number));
  assert.deepEqual(
    stamps.map(([pts]) => pts),
    stamps.map((_, i) => i * 1024),
  );
});

test("an added track is encoded from its own file", needsFfmpeg, async (t) => {
  const world = await openEncoder(t, {
    audio: {
      find: async (of, rendition) =>
        rendition === "audio-abc"
          ? {
              key: `stream/${of.uid}/audio/abc`,
              format: "mov",
              stream: 0,
              codec: "pcm_s16le",
              channels: 2,
              sampleRate: 48_000,
              duration: 10,
            }
          : undefined,
    },
  });
  const of = await world.video(await clip(mediaClips.silent), { ...modelOf({ audio: false, segmentSeconds: 1 }) });
  const path = await clip(sweep(PCM));
  await world.objects.put(
    `stream/${of.uid}/audio/abc`,
    await runFfmpeg(["-i", path, "-c", "copy", "-f", "mov", "-movflags", "frag_keyframe+empty_moov", "pipe:1"]),
  );
  assert.ok(snr(await samples(await world.whole(of, "audio-abc")), await samples(path), 4800, 180_000) > 18);
  assert.equal(await world.segments.get(of, "audio-def", 0), undefined);
  assert.equal(await world.segments.get(of, MAIN_AUDIO, 0), undefined);
});
