import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runFfmpeg } from "../../../test/support/media.ts";
import { openObjects } from "../../../test/support/open-objects.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { openTools } from "../media/media.testing.ts";
import type { SettingsInput } from "../../kernel/settings.ts";
import type { MediaTools } from "../media/port.ts";
import type { MediaModel, VideoRendition } from "../model.ts";
import { testVideo } from "../videos/videos.testing.ts";
import type { Video } from "../videos/video.ts";
import { createSegments, type SegmentsDeps } from "./segments.ts";

interface EncoderWorldOptions extends Partial<Omit<SegmentsDeps, "tools">> {
  /** Wraps the real tools. */
  around?: (tools: MediaTools) => MediaTools;
  /** Settings of the real tools. */
  media?: NonNullable<SettingsInput["stream"]>;
}

/** Segments from real files and the real ffmpeg, with a record of the ffmpeg runs. */
export async function openEncoder(
  t: TestContext,
  { around = (tools) => tools, media, ...more }: EncoderWorldOptions = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-encode-test-"));
  const objects = await openObjects({ folder: join(folder, "objects") });
  const runs: string[][] = [];
  const real = openTools(t, media);
  const tools = around({
    ...real,
    ffmpeg(run) {
      runs.push(run.args);
      return real.ffmpeg(run);
    },
  });
  const parts: SegmentsDeps = {
    tools,
    objects,
    clock: systemClock,
    log: silentLog,
    concurrency: 2,
    scratch: join(folder, "scratch"),
    ...more,
  };
  const segments = createSegments(parts);
  t.after(async () => {
    await segments.close();
    await real.close();
    rmSync(folder, { recursive: true, force: true });
  });

  let next = 0;
  /** Resolves with a video in processing, with this file as its source. */
  async function video(
    path: string,
    model: Omit<MediaModel, "version" | "source"> & { source?: Partial<MediaModel["source"]> },
  ): Promise<Video> {
    const uid = (++next).toString(16).padStart(32, "0");
    const key = `stream/${uid}/source`;
    const bytes = await readFile(path);
    await objects.put(key, bytes);
    return testVideo({
      uid,
      state: "inprogress",
      sourceKey: key,
      model: { version: 1, ...model, source: { key, format: "mov", start: 0, size: bytes.length, ...model.source } },
    });
  }

  async function bytesOf(of: Video, rendition: string, n: number | "init"): Promise<Buffer> {
    const handle = await segments.get(of, rendition, n);
    if (handle === undefined) throw new Error(`segment ${n} of ${rendition} does not exist`);
    return handle.bytes();
  }

  /** Resolves with a whole rendition as one file; its segments are requested in this order. */
  async function whole(of: Video, rendition: string, order?: readonly number[]): Promise<string> {
    const { count } = of.model!.segments;
    const wanted = order ?? Array.from({ length: count }, (_, n) => n);
    const parted: Buffer[] = [];
    for (const n of wanted) parted[n] = await bytesOf(of, rendition, n);
    const path = join(folder, `${of.uid}-${rendition}.mp4`);
    await writeFile(path, Buffer.concat([await bytesOf(of, rendition, "init"), ...parted]));
    return path;
  }

  return { folder, objects, segments, tools, runs, video, bytesOf, whole, parts };
}

/** Probe result of a clip from test/support/media.ts. */
export function modelOf({
  seconds = 4,
  fps = { num: 30, den: 1 },
  frames,
  size = [320, 180],
  ladder,
  audio = true,
  segmentSeconds = 4,
}: {
  seconds?: number;
  fps?: { num: number; den: number };
  frames?: number;
  size?: [width: number, height: number];
  ladder?: VideoRendition[];
  audio?: boolean;
  /** With shorter segments, small clips have more of them. */
  segmentSeconds?: number;
} = {}): Omit<MediaModel, "version" | "source"> {
  const rate = fps.num / fps.den;
  const framesPerSegment = 2 * Math.round((segmentSeconds * rate) / 2);
  const count = frames ?? Math.round(seconds * rate);
  const [width, height] = size;
  return {
    duration: seconds,
    video: {
      stream: 0,
      codec: "h264",
      pixelFormat: "yuv420p",
      width,
      height,
      rotation: 0,
      interlaced: false,
      bitrate: 1_000_000,
      keyframeInterval: 2,
      passthrough: false,
    },
    ...(audio && { audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: true } }),
    segments: { fps, framesPerSegment, frames: count, count: Math.ceil(count / framesPerSegment) },
    ladder: ladder ?? [rung("180p", width, height)],
  };
}

export const rung = (
  name: string,
  width: number,
  height: number,
  more: Partial<VideoRendition> = {},
): VideoRendition => ({ name, codec: "h264", width, height, bitrate: 2_000_000, ...more });

/**
 * Resolves with the similarity of two videos, frame by frame, as PSNR in dB; the filter converts the second to the size
 * and frame rate of the first. Rejects if one has more frames than the other.
 */
export async function measurePsnr(
  path: string,
  source: string,
  {
    filter = "null",
    size = [320, 180],
    sourceArgs = [],
  }: { filter?: string; size?: [number, number]; sourceArgs?: string[] } = {},
): Promise<number[]> {
  const [a, b] = await Promise.all([
    pictures(path, ["-vf", `scale=${size.join(":")},format=gray`]),
    pictures(source, ["-vf", `${filter},scale=${size.join(":")}:flags=bicubic,format=gray`, ...sourceArgs]),
  ]);
  const octets = size[0] * size[1];
  if (a.length !== b.length) throw new Error(`${b.length / octets} frames became ${a.length / octets}`);
  return Array.from({ length: a.length / octets }, (_, i) =>
    psnr(a.subarray(i * octets, (i + 1) * octets), b.subarray(i * octets, (i + 1) * octets)),
  );
}

const pictures = (path: string, args: string[]) =>
  runFfmpeg(["-i", path, "-map", "0:v:0", ...args, "-fps_mode", "passthrough", "-f", "rawvideo", "pipe:1"]);

function psnr(a: Buffer, b: Buffer): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum === 0 ? 99 : 10 * Math.log10((255 * 255 * a.length) / sum);
}

/** Resolves with the audio samples of the first channel, from -1 to 1. */
export async function samples(path: string, args: string[] = []): Promise<Float32Array> {
  const raw = await runFfmpeg([
    "-i",
    path,
    "-map",
    "0:a:0",
    ...args,
    "-ac",
    "1",
    "-ar",
    "48000",
    "-f",
    "f32le",
    "pipe:1",
  ]);
  return new Float32Array(raw.buffer, raw.byteOffset, Math.floor(raw.length / 4));
}
