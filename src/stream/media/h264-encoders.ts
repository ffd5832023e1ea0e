import type { Settings } from "../../kernel/settings.ts";
import type { HardwareEncoder } from "../model.ts";

/** ffmpeg's hardware encoders for H.264, in order of preference. */
const HARDWARE_ENCODERS = [
  "h264_nvenc",
  "h264_qsv",
  "h264_vaapi",
  "h264_videotoolbox",
] as const satisfies HardwareEncoder[];
export const SOFTWARE_ENCODER = "libx264";
export type H264Encoder = HardwareEncoder | typeof SOFTWARE_ENCODER;

export interface EncoderSelection {
  encoder: H264Encoder;
  /** Why no hardware encoder is selected; absent if one is. */
  reason?: string;
}

/** Rate and level of one rendition. */
interface HardwareOptions {
  /** Maximum bitrate, in bits per second. */
  bitrate: number;
  /** In tenths: 31 is level 3.1. */
  level: number;
  /** Frames between key frames. "forced": only where requested, with as little delay as possible. */
  keyFrames: number | "forced";
}

const RENDER_NODE = "/dev/dri/renderD128";
const DEVICES: Record<HardwareEncoder, readonly string[]> = {
  h264_nvenc: ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"],
  h264_qsv: ["/dev/dri"],
  h264_vaapi: ["/dev/dri"],
  h264_videotoolbox: [],
};
/** CUDA reserves address space for all memory of the machine and its devices. */
const CUDA_ADDRESS_SPACE_MB = 1 << 20;
/** More frames than any broadcast has between two requested key frames. */
const NO_KEY_FRAMES = 1_000_000;
/** Variable-rate encoding targets a rate below the maximum. */
const TARGET_SHARE = 2 / 3;

const usedIn = (args: readonly string[]) => HARDWARE_ENCODERS.find((name) => args.includes(name));

/** Access that a run with these arguments needs beyond that of a software encoder. */
export function hardwareAccess(args: readonly string[]): { devices: readonly string[]; memoryMb?: number } {
  const encoder = usedIn(args);
  if (encoder === undefined) return { devices: [] };
  return { devices: DEVICES[encoder], ...(encoder === "h264_nvenc" && { memoryMb: CUDA_ADDRESS_SPACE_MB }) };
}

/** Options that precede the inputs. */
export const deviceOptions = (encoder: H264Encoder): string[] =>
  encoder === "h264_vaapi" ? ["-vaapi_device", RENDER_NODE] : [];

/** Last filters before the encoder: pixel format, and for VA-API the upload to the device. */
export function inputFilters(encoder: H264Encoder): string {
  if (encoder === "h264_vaapi") return "format=nv12,hwupload";
  return encoder === "h264_qsv" ? "format=nv12" : "format=yuv420p";
}

/**
 * Output options of a hardware encoder. At most two frames are reordered, as with x264, and never across a key frame.
 */
export function hardwareOptions(encoder: HardwareEncoder, { bitrate, level, keyFrames }: HardwareOptions): string[] {
  const isLive = keyFrames === "forced";
  const options = {
    "c:v": encoder,
    "b:v": Math.round(bitrate * TARGET_SHARE),
    maxrate: bitrate,
    bufsize: 2 * bitrate,
    "profile:v": "high",
    "level:v": encoder === "h264_qsv" ? level : (level / 10).toFixed(1),
    g: isLive ? NO_KEY_FRAMES : keyFrames,
    bf: isLive || encoder === "h264_vaapi" ? 0 : 2,
    ...OWN_OPTIONS[encoder],
    ...(isLive && LIVE_OPTIONS[encoder]),
  };
  return Object.entries(options).flatMap(([name, value]) => [`-${name}`, String(value)]);
}

const OWN_OPTIONS: Record<HardwareEncoder, Record<string, string | number>> = {
  h264_nvenc: { preset: "p4", rc: "vbr", b_ref_mode: "disabled", "no-scenecut": 1, "forced-idr": 1 },
  h264_qsv: { preset: "veryfast", idr_interval: 0, forced_idr: 1, adaptive_i: 0 },
  h264_vaapi: { rc_mode: "VBR", idr_interval: 0 },
  h264_videotoolbox: { allow_sw: 0 },
};
const LIVE_OPTIONS: Record<HardwareEncoder, Record<string, string | number>> = {
  h264_nvenc: { delay: 0, zerolatency: 1 },
  h264_qsv: { async_depth: 1 },
  h264_vaapi: { async_depth: 1 },
  h264_videotoolbox: { realtime: 1 },
};

/** One second in two groups of pictures. */
const TEST_FRAMES = 30;
const TEST_GROUP = TEST_FRAMES / 2;

/** Arguments that encode a short generated clip to standard output, with the options of segments or broadcasts. */
function testArgs(encoder: HardwareEncoder, keyFrames: "forced" | "regular"): string[] {
  return [
    "-hide_banner",
    "-nostdin",
    "-loglevel",
    "error",
    ...deviceOptions(encoder),
    "-f",
    "lavfi",
    "-i",
    `testsrc2=size=640x360:rate=${TEST_FRAMES}:duration=1`,
    "-vf",
    inputFilters(encoder),
    ...hardwareOptions(encoder, {
      bitrate: 1_000_000,
      level: 31,
      keyFrames: keyFrames === "forced" ? "forced" : TEST_GROUP,
    }),
    ...(keyFrames === "forced" ? ["-force_key_frames", "0.5"] : []),
    "-f",
    "mp4",
    "-movflags",
    "+cmaf+empty_moov+frag_keyframe+skip_trailer",
    "pipe:1",
  ];
}

interface SelectDeps {
  setting: Settings["stream"]["encoder"];
  /** All encoders of this ffmpeg. */
  listed: ReadonlySet<string>;
  /** Runs ffmpeg and resolves with its output. Rejects if it fails or takes too long. */
  run(args: string[]): Promise<Buffer>;
}

/**
 * Selects the first hardware encoder that encodes a clip correctly on this machine, or the software encoder. Never
 * rejects.
 */
export async function selectEncoder({ setting, listed, run }: SelectDeps): Promise<EncoderSelection> {
  if (setting === "software") return { encoder: SOFTWARE_ENCODER, reason: "stream.encoder is software" };
  const candidates = HARDWARE_ENCODERS.filter((name) => setting === "auto" || setting === name);
  const reasons: string[] = [];
  for (const encoder of candidates) {
    const failure = listed.has(encoder) ? await failureOf(encoder, run) : "not included in this ffmpeg";
    if (failure === undefined) return { encoder };
    if (listed.has(encoder) || setting !== "auto") reasons.push(`${encoder}: ${failure}`);
  }
  return {
    encoder: SOFTWARE_ENCODER,
    reason: reasons.join("; ") || "this ffmpeg includes no hardware encoder",
  };
}

async function failureOf(encoder: HardwareEncoder, run: SelectDeps["run"]): Promise<string | undefined> {
  for (const keyFrames of ["regular", "forced"] as const) {
    try {
      const output = await run(testArgs(encoder, keyFrames));
      // Each group of pictures is one fragment.
      const fragments = output.toString("latin1").split("moof").length - 1;
      if (fragments !== 2) return `its test clip has ${fragments} groups of pictures instead of 2`;
    } catch (err) {
      return reasonOf(err);
    }
  }
  return undefined;
}

/** The first line that ffmpeg printed names the missing library or device; the last one only reports the failure. */
function reasonOf(err: unknown): string {
  const stderr = (err as { stderr?: unknown }).stderr;
  const [line = ""] = typeof stderr === "string" ? stderr.trim().split("\n") : [];
  return (
    line.replace(/^\[[^\]]*\] */, "").slice(0, 200) || (err instanceof Error ? err.message : String(err)).slice(0, 200)
  );
}
