import assert from "node:assert/strict";
import { before, describe, test, type TestContext } from "node:test";
import { silentLog } from "../../src/kernel/index.ts";
import { createSourcePassthrough } from "../../src/stream/passthrough/passthrough.ts";
import { createPlayback } from "../../src/stream/playback/playback.ts";
import { serveDelivery } from "../../src/stream/playback/playback.testing.ts";
import { createRenditionRates } from "../../src/stream/playback/rates.ts";
import { openProcessing } from "../../src/stream/processing/processing.testing.ts";
import type { Video } from "../../src/stream/videos/video.ts";
import { clip, needsFfmpeg, type ClipRecipe } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

const lavfi = (video: string, audio?: string): string[] => [
  "-f",
  "lavfi",
  "-i",
  video,
  ...(audio === undefined ? [] : ["-f", "lavfi", "-i", audio]),
];
const x264 = (...more: string[]) => ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", ...more];

/**
 * Ten videos with typical bitrate profiles: among others constant, bursty and nearly zero, and one with a short last
 * segment.
 */
const CLIPS: Record<string, ClipRecipe> = {
  "a test pattern": { seconds: 9 },
  noise: {
    inputs: lavfi(
      "testsrc2=size=256x144:rate=25:duration=9,noise=alls=60:allf=t",
      "anoisesrc=duration=9:sample_rate=48000",
    ),
    video: x264("-crf", "30"),
  },
  "a still image": { inputs: lavfi("color=c=navy:size=320x180:rate=25:duration=10", "sine=duration=10") },
  "noise after a still image": {
    inputs: lavfi(
      "color=c=navy:size=256x144:rate=25:duration=12,noise=alls=80:allf=t:enable='gt(t,8)'",
      "aevalsrc='gt(t,8)*(random(0)-0.5)':sample_rate=48000:duration=12",
    ),
    video: x264("-crf", "28"),
  },
  "10 fps": { seconds: 8.6, fps: "10" },
  "60 fps": { seconds: 6, fps: "60" },
  "a last segment of one frame": { fps: "25", output: ["-frames:v", "101"], seconds: 5 },
  "less than a second": { seconds: 0.4, fps: "25" },
  silent: { seconds: 7, audio: false },
  "Matroska, VP8 and Opus": {
    extension: "webm",
    seconds: 6,
    video: ["-c:v", "libvpx", "-b:v", "300k", "-deadline", "realtime", "-cpu-used", "8"],
    audio: ["-c:a", "libopus", "-b:a", "64k"],
  },
};

interface Playlist {
  segments: { size: number; duration: number }[];
  target: number;
}

describe("BANDWIDTH of completely encoded videos", { skip: needsFfmpeg.skip, timeout: 300_000 }, () => {
  const scope = suiteScope();
  const videos: Record<string, Video> = {};
  let origin: string;

  before(
    async () => {
      const world = await openProcessing(scope);
      for (const [name, recipe] of Object.entries(CLIPS)) {
        const uid = await world.upload(await clip(recipe));
        videos[name] = await world.until(uid, ({ state }) => state === "ready" || state === "error");
      }
      const source = createSourcePassthrough({ objects: world.objects, log: silentLog, enabled: true });
      origin = await serveDelivery(scope, {
        videos: Object.values(videos),
        routes: createPlayback({
          segments: world.segments,
          source,
          rates: createRenditionRates({ objects: world.objects, log: silentLog }),
        }),
      });
    },
    { timeout: 280_000 },
  );

  async function playlistOf(uri: string): Promise<Playlist> {
    const text = await textOf(uri);
    const segments = await Promise.all(
      [...text.matchAll(/#EXTINF:([\d.]+),\n(\S+)/g)].map(async ([, duration, segment]) => ({
        duration: Number(duration),
        size: (await (await fetch(new URL(segment!, uri))).arrayBuffer()).byteLength,
      })),
    );
    return { segments, target: Number(/#EXT-X-TARGETDURATION:(\d+)/.exec(text)![1]) };
  }

  for (const name of Object.keys(CLIPS)) {
    test(`${name}: is within 10 % of the served segments, and AVERAGE-BANDWIDTH does not exceed it`, async (t) => {
      const { uid, state, errorReason } = videos[name]!;
      assert.equal(state, "ready", JSON.stringify(errorReason));
      const at = `${origin}/${uid}/manifest/video.m3u8`;
      const text = await textOf(at);
      const mpd = await textOf(at.replace(".m3u8", ".mpd"));
      const groups = await groupsOf(text, at);
      const variants = [...text.matchAll(/#EXT-X-STREAM-INF:(.*)\n(\S+)/g)];
      assert.ok(variants.length > 0);
      for (const [, attributes, uri] of variants) {
        const said = (attribute: string) => Number(new RegExp(`(?:^|,)${attribute}=(\\d+)`).exec(attributes!)![1]);
        const alone = await playlistOf(new URL(uri!, at).href);
        const received = groups.get(/AUDIO="(\w+)"/.exec(attributes!)?.[1] ?? "");
        const measured = {
          peak: peakOf(alone) + (received === undefined ? 0 : peakOf(received)),
          average: averageOf(alone) + (received === undefined ? 0 : averageOf(received)),
        };
        note(t, name, uri!, { peak: said("BANDWIDTH"), average: said("AVERAGE-BANDWIDTH") }, measured);
        assert.ok(
          Math.abs(said("BANDWIDTH") / measured.peak - 1) <= 0.1,
          `BANDWIDTH of ${uri} is ${said("BANDWIDTH")}, measured ${measured.peak}`,
        );
        assert.ok(
          Math.abs(said("AVERAGE-BANDWIDTH") / measured.average - 1) <= 0.1,
          `AVERAGE-BANDWIDTH of ${uri} is ${said("AVERAGE-BANDWIDTH")}, measured ${measured.average}`,
        );
        assert.ok(said("AVERAGE-BANDWIDTH") <= said("BANDWIDTH"), `${uri}: ${attributes}`);
        const dash = Number(
          new RegExp(`<Representation id="${uri!.replace(".m3u8", "")}"[^>]* bandwidth="(\\d+)"`).exec(mpd)?.[1],
        );
        assert.ok(
          Math.abs(dash / peakOf(alone) - 1) <= 0.1,
          `bandwidth of ${uri} is ${dash} in DASH, measured ${peakOf(alone)}`,
        );
      }
    });
  }

  /** Audio playlists by GROUP-ID. Each group has a single rendition. */
  async function groupsOf(text: string, base: string): Promise<Map<string, Playlist>> {
    return new Map(
      await Promise.all(
        [...text.matchAll(/TYPE=AUDIO,GROUP-ID="(\w+)".*URI="([^"]+)"/g)].map(
          async ([, group, uri]) => [group!, await playlistOf(new URL(uri!, base).href)] as const,
        ),
      ),
    );
  }
});

async function textOf(url: string): Promise<string> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  return response.text();
}

/**
 * Returns the peak bit rate, computed as in mediastreamvalidator: the highest rate of contiguous segments lasting 0.5
 * to 1.5 target durations, or of all segments if they are shorter.
 */
function peakOf({ segments, target }: Playlist): number {
  const runs = segments.flatMap((_, from) => segments.slice(from).map((__, i) => segments.slice(from, from + i + 1)));
  const fitting = runs.filter((run) => secondsOf(run) >= 0.5 * target && secondsOf(run) <= 1.5 * target);
  return Math.max(...(fitting.length === 0 ? [segments] : fitting).map((run) => bitsOf(run) / secondsOf(run)));
}

const averageOf = ({ segments }: Playlist) => bitsOf(segments) / secondsOf(segments);
const bitsOf = (segments: Playlist["segments"]) => segments.reduce((sum, { size }) => sum + 8 * size, 0);
const secondsOf = (segments: Playlist["segments"]) => segments.reduce((sum, { duration }) => sum + duration, 0);

function note(
  t: TestContext,
  name: string,
  uri: string,
  said: { peak: number; average: number },
  measured: { peak: number; average: number },
) {
  t.diagnostic(
    `${name} ${uri}: BANDWIDTH ${said.peak}, measured ${Math.round(measured.peak)}; AVERAGE-BANDWIDTH ${said.average}, measured ${Math.round(measured.average)}`,
  );
}
