import type { MediaRun, MediaRunError, MediaTools } from "../media/index.ts";
import { isFileError, malformedFileError, nonVideoError } from "./refused.ts";

/** Description of a file from its headers, which must not be trusted where packets can be counted. */
export interface FileDescription {
  /** The first of ffmpeg's names for the demuxer. */
  format: string;
  /** The first timestamp of the file, in seconds. ffmpeg's `-start_at_zero` removes it. */
  start: number;
  /** In seconds, if declared in the file. */
  duration: number | undefined;
  streams: StreamDescription[];
}

export interface StreamDescription {
  index: number;
  kind: "video" | "audio" | "other";
  codec: string | undefined;
  profile: string | undefined;
  codecTag: string;
  /** Track id (mp4 only). */
  id: number | undefined;
  /** Seconds per tick of its timestamps. */
  tick: number;
  isDefault: boolean;
  /** A cover image, not a video. */
  isPicture: boolean;
  /** BCP 47 tag. */
  language: string | undefined;
  title: string | undefined;
  /** Forced subtitles, which translate only foreign-language dialogue. */
  isForced: boolean;
  width: number;
  height: number;
  /** Pixel aspect ratio, width to height. */
  pixelAspect: number;
  pixelFormat: string | undefined;
  level: number;
  /** Clockwise, in degrees. */
  rotation: 0 | 90 | 180 | 270;
  fieldOrder: string | undefined;
  transfer: string | undefined;
  /** Frames per second according to the headers: the finest and the average rate. */
  rates: number[];
  frames: number | undefined;
  channels: number;
  sampleRate: number;
}

const ENTRIES = [
  "format=format_name,start_time,duration",
  "stream=index,id,codec_type,codec_name,profile,codec_tag_string,time_base,width,height,sample_aspect_ratio,pix_fmt,level,field_order,color_transfer,r_frame_rate,avg_frame_rate,nb_frames,channels,sample_rate",
  "stream_disposition=default,forced,attached_pic,timed_thumbnails,still_image",
  "stream_tags=rotate,language,title",
  "stream_side_data=rotation",
].join(":");

const MAX_TITLE_LENGTH = 100;

export type ProbeRunOptions = Pick<MediaRun, "signal" | "urgency">;

/**
 * Runs ffprobe ahead of other jobs: it is fast, and the uploader waits for the video. Throws ProbeRejected for files
 * that are neither video nor audio.
 */
export async function describeFile(
  tools: MediaTools,
  path: string,
  options: ProbeRunOptions,
): Promise<FileDescription> {
  const { output } = await tools
    .ffprobe({
      args: ["-show_entries", ENTRIES, "-of", "json", "-i", path],
      reads: [path],
      wallMs: 60_000,
      cpuSeconds: 60,
      outputBytes: 4 << 20,
      ...options,
      urgency: "urgent",
    })
    .catch((err: unknown) => {
      throw isFileError(err) ? rejectionOf(err) : err;
    });
  const { format, streams = [] } = JSON.parse(output.toString("utf8")) as FfprobeOutput;
  if (format?.format_name === undefined) throw nonVideoError();
  return {
    format: format.format_name.split(",")[0]!,
    start: number(format.start_time) ?? 0,
    duration: number(format.duration),
    streams: streams.map(readStream),
  };
}

function rejectionOf(err: MediaRunError): Error {
  const options = { cause: err };
  if (/moov atom not found/.test(err.stderr))
    return malformedFileError(
      "It has no index (moov): the file is truncated, or its recording was not finalized.",
      options,
    );
  // An error about too many streams comes from -max_streams; libavformat has no specific message for the other cases.
  if (/Number of streams exceeds|max_streams/i.test(err.stderr))
    return malformedFileError("It has too many tracks.", options);
  if (err.reason !== "failed") return malformedFileError("It cannot be read within the resource limits.", options);
  return nonVideoError(undefined, options);
}

interface FfprobeOutput {
  format?: { format_name?: string; start_time?: string; duration?: string };
  streams?: FfprobeStream[];
}

interface FfprobeStream {
  index: number;
  id?: string;
  codec_type?: string;
  codec_name?: string;
  profile?: string;
  codec_tag_string?: string;
  time_base?: string;
  width?: number;
  height?: number;
  sample_aspect_ratio?: string;
  pix_fmt?: string;
  level?: number;
  field_order?: string;
  color_transfer?: string;
  r_frame_rate?: string;
  avg_frame_rate?: string;
  nb_frames?: string;
  channels?: number;
  sample_rate?: string;
  disposition?: {
    default?: number;
    forced?: number;
    attached_pic?: number;
    timed_thumbnails?: number;
    still_image?: number;
  };
  tags?: { rotate?: string; language?: string; title?: string };
  side_data_list?: { rotation?: number | string }[];
}

function readStream(ffprobeStream: FfprobeStream): StreamDescription {
  const { disposition = {}, tags = {}, codec_type: kind } = ffprobeStream;
  return {
    index: ffprobeStream.index,
    kind: kind === "video" || kind === "audio" ? kind : "other",
    codec: ffprobeStream.codec_name === "unknown" ? undefined : ffprobeStream.codec_name,
    profile: ffprobeStream.profile === "unknown" ? undefined : ffprobeStream.profile,
    codecTag: ffprobeStream.codec_tag_string ?? "",
    id: ffprobeStream.id === undefined ? undefined : number(ffprobeStream.id),
    tick: ratio(ffprobeStream.time_base, "/") ?? 0,
    isDefault: disposition.default === 1,
    isPicture: disposition.attached_pic === 1 || disposition.timed_thumbnails === 1 || disposition.still_image === 1,
    language: languageOf(tags.language),
    title: tags.title?.trim().slice(0, MAX_TITLE_LENGTH) || undefined,
    isForced: disposition.forced === 1,
    width: ffprobeStream.width ?? 0,
    height: ffprobeStream.height ?? 0,
    pixelAspect: readAspect(ffprobeStream.sample_aspect_ratio),
    pixelFormat: ffprobeStream.pix_fmt === "unknown" ? undefined : ffprobeStream.pix_fmt,
    level: ffprobeStream.level ?? 0,
    rotation: readRotation(ffprobeStream),
    fieldOrder: ffprobeStream.field_order,
    transfer: ffprobeStream.color_transfer,
    rates: [ffprobeStream.r_frame_rate, ffprobeStream.avg_frame_rate]
      .flatMap((rate) => ratio(rate, "/") ?? [])
      .filter((rate) => rate > 0),
    frames: number(ffprobeStream.nb_frames),
    channels: ffprobeStream.channels ?? 0,
    sampleRate: number(ffprobeStream.sample_rate) ?? 0,
  };
}

/** Containers use "ger" or "deu" (ISO 639-2); players use "de" (BCP 47). */
function languageOf(tag: string | undefined): string | undefined {
  if (tag === undefined || !/^[a-z]{2,3}(?:-[A-Za-z0-9-]{1,30})?$/.test(tag) || tag === "und") return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/**
 * ffmpeg's angle is counter-clockwise; QuickTime's old `rotate` tag is clockwise. Angles other than right angles are
 * ignored.
 */
function readRotation({ side_data_list: sideData = [], tags }: FfprobeStream): StreamDescription["rotation"] {
  const counter = sideData.map(({ rotation }) => number(rotation)).find((angle) => angle !== undefined);
  const clockwise = counter === undefined ? (number(tags?.rotate) ?? 0) : -counter;
  const quarters = Math.round(clockwise / 90);
  return Math.abs(clockwise - quarters * 90) > 1
    ? 0
    : (((((quarters % 4) + 4) % 4) * 90) as StreamDescription["rotation"]);
}

/** 0:1 means "unknown"; an implausible aspect ratio is an error in the file. */
function readAspect(text: string | undefined): number {
  const aspect = ratio(text, ":") ?? 1;
  return aspect >= 0.1 && aspect <= 10 ? aspect : 1;
}

function ratio(text: string | undefined, separator: string): number | undefined {
  const [num, den] = (text ?? "").split(separator).map(Number);
  const value = num! / den!;
  return Number.isFinite(value) ? value : undefined;
}

function number(text: string | number | undefined): number | undefined {
  const value = text === undefined || text === "" || text === "N/A" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}
