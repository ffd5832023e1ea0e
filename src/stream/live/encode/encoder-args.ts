import { deviceOptions, hardwareOptions, type H264Encoder, inputFilters, SOFTWARE_ENCODER } from "../../media/index.ts";
import { MATROSKA_INPUT } from "../matroska-input.ts";
import { LIVE_AUDIO_BITRATE, LIVE_AUDIO_RATE, type Rung } from "./plan.ts";
import { VIDEO_TIMESCALE } from "./picture-fragments.ts";

/** Pipe of the first output; audio uses the last one. */
const FIRST_PIPE_FD = 3;

/**
 * Returns the arguments of ffmpeg: Matroska on standard input; for each rung, a fragmented MP4 with one fragment per
 * frame; for audio, frames with ADTS headers. Each video frame is output exactly once, with its own time.
 */
export function encoderArgs({
  rungs,
  video,
  audio,
  keyFrames,
  h264 = SOFTWARE_ENCODER,
}: {
  rungs: readonly Rung[];
  video: boolean;
  audio: boolean;
  keyFrames: "source" | "encoder";
  /** Default: the software encoder. */
  h264?: H264Encoder;
}): string[] {
  return [
    ...deviceOptions(h264),
    ...MATROSKA_INPUT,
    ...(rungs.length > 0 ? ["-filter_complex", graph(rungs, h264)] : []),
    ...rungs.flatMap((rung, i) => rungArgs(rung, i, keyFrames, h264)),
    ...(audio ? audioArgs(video ? 1 : 0, rungs.length) : []),
  ];
}

function graph(rungs: readonly Rung[], h264: H264Encoder): string {
  const names = rungs.map((_, i) => `[s${i}]`).join("");
  const scale = ({ width, height }: Rung) =>
    width === undefined ? "scale=trunc(iw/2)*2:trunc(ih/2)*2" : `scale=${width}:${height}`;
  return [
    `[0:v:0]split=${rungs.length}${names}`,
    ...rungs.map((rung, i) => `[s${i}]${scale(rung)}:flags=bicubic,setsar=1,${inputFilters(h264)}[v${i}]`),
  ].join(";");
}

function rungArgs(rung: Rung, index: number, keyFrames: "source" | "encoder", h264: H264Encoder): string[] {
  return [
    "-map",
    `[v${index}]`,
    ...(h264 === SOFTWARE_ENCODER
      ? softwareOptions(rung)
      : hardwareOptions(h264, { bitrate: rung.bitrate, level: rung.level, keyFrames: "forced" })),
    "-force_key_frames",
    keyFrames === "source" ? "source" : "expr:gte(t,n_forced*2)",
    "-fps_mode",
    "passthrough",
    "-enc_time_base",
    `1/${VIDEO_TIMESCALE}`,
    "-map_metadata",
    "-1",
    "-fflags",
    "+bitexact",
    "-avoid_negative_ts",
    "disabled",
    "-video_track_timescale",
    String(VIDEO_TIMESCALE),
    "-flush_packets",
    "1",
    "-f",
    "mp4",
    "-movflags",
    "+cmaf+default_base_moof+empty_moov+frag_every_frame+skip_trailer",
    `pipe:${FIRST_PIPE_FD + index}`,
  ];
}

function softwareOptions({ bitrate, level, height }: Rung): string[] {
  return [
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-tune",
    "zerolatency",
    "-threads",
    (height ?? 0) > 480 ? "2" : "1",
    "-crf",
    "23",
    "-maxrate",
    String(bitrate),
    "-bufsize",
    String(2 * bitrate),
    "-profile:v",
    "high",
    "-level:v",
    (level / 10).toFixed(1),
    // Key frames only where requested. Publishers' timestamps are uneven, and ffmpeg derives rates from them.
    "-x264-params",
    "keyint=infinite:min-keyint=1:scenecut=0:open-gop=0:force-cfr=0",
  ];
}

function audioArgs(stream: number, index: number): string[] {
  return [
    // Audio follows the timestamps: gaps become silence, and clock drift is compensated. The flags enable the resampler
    // from the start: one inserted later, when drift is detected, starts at timestamp zero and fills the gap with
    // silence.
    "-map",
    `0:${stream}`,
    "-af",
    `aresample=${LIVE_AUDIO_RATE},aresample=async=1000:min_comp=0.01:min_hard_comp=0.1:first_pts=0:flags=res,aformat=channel_layouts=stereo`,
    "-c:a",
    "aac",
    "-b:a",
    String(LIVE_AUDIO_BITRATE),
    "-ar",
    String(LIVE_AUDIO_RATE),
    "-ac",
    "2",
    "-map_metadata",
    "-1",
    "-flush_packets",
    "1",
    "-f",
    "adts",
    `pipe:${FIRST_PIPE_FD + index}`,
  ];
}
