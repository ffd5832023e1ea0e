import { type H264Encoder, SOFTWARE_ENCODER } from "../media/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type {
  AudioTrack,
  BurnedWatermark,
  EmbeddedAudio,
  EmbeddedText,
  Fraction,
  MediaModel,
  VideoRendition,
  VideoTrack,
} from "../model.ts";
import type { FileDescription } from "./describe.ts";
import { geometryOf } from "./geometry.ts";
import { audioGrid, outputRate, videoGrid } from "./grid.ts";
import type { Scan } from "./index-scan.ts";
import { createLadder } from "./ladder.ts";
import { canPassThroughAudio, type PassthroughInput, canPassThroughVideo } from "./passthrough.ts";
import { malformedFileError, ProbeRejected } from "./refused.ts";
import type { TrackScan } from "./track-scan.ts";
import type { ChosenTracks } from "./tracks.ts";

interface ProbedFile {
  key: string;
  originalKey: string;
  size: number;
  description: FileDescription;
  tracks: ChosenTracks;
  scan: Scan;
  /** Seconds in the file. */
  clip?: { start: number; end: number } | undefined;
  watermark?: BurnedWatermark | undefined;
  /** The encoder selected on this machine. */
  h264: H264Encoder;
}

type ModelSettings = Pick<Settings["stream"], "ladder" | "codecs" | "passthrough" | "max_duration_seconds">;

const MIN_DURATION_SECONDS = 0.1;
/**
 * If audio continues for longer than this after the last frame, that frame remains on the screen; a shorter excess is
 * the rest of a packet.
 */
const MAX_AUDIO_OVERRUN_SECONDS = 0.25;
/**
 * Maximum time cut from the start of the audio. Video that begins later starts with its first frame as a still image.
 */
const MAX_START_TRIM_SECONDS = 0.25;

/** Throws ProbeRejected if the file is too short, too long or empty. */
export function modelOf(
  { key, originalKey, size, description, tracks, scan, clip, watermark, h264 }: ProbedFile,
  settings: ModelSettings,
): MediaModel {
  const videoScan = tracks.video && scan.video;
  const audioScan = tracks.audio && scan.audio;
  if (tracks.video !== undefined && videoScan === undefined) throw malformedFileError("Its video track has no frames.");
  if (videoScan === undefined && audioScan === undefined) throw malformedFileError("It has no packets.");
  const fps = videoScan && outputRate(videoScan.cadence, tracks.video!.rates);
  const { start, duration } = partOf(beginningOf(videoScan, fps), lengthOf(videoScan, audioScan), clip);
  checkLength(duration, settings);

  const geometry = tracks.video && geometryOf(tracks.video);
  const segments = fps === undefined ? audioGrid(duration) : videoGrid(fps, duration);
  const bitrate = videoScan === undefined ? 0 : bitrateOf(videoScan);
  const passthroughQuery: PassthroughInput = {
    description,
    tracks: { ...(videoScan && { video: tracks.video! }), ...(audioScan && { audio: tracks.audio! }) },
    scan,
    bitrate,
    fps: fps === undefined ? 0 : fps.num / fps.den,
    isModified: start !== 0 || clip !== undefined || watermark !== undefined,
    ...(geometry && { geometry }),
  };
  const video = videoScan && toVideoTrack(passthroughQuery, videoScan, canPassThroughVideo(passthroughQuery, settings));
  const audio = audioScan && toAudioTrack(tracks.audio!, canPassThroughAudio(passthroughQuery, settings));
  const ladder =
    video === undefined
      ? []
      : createLadder({ width: video.width, height: video.height, fps: passthroughQuery.fps }, settings);
  return {
    version: 1,
    duration,
    source: { key, ...(originalKey !== key && { originalKey }), format: description.format, start, size },
    ...(video && { video }),
    ...(audio && { audio }),
    ...embeddedIn(tracks),
    segments,
    ladder,
    ...(watermark !== undefined && video !== undefined && { watermark }),
    ...(ladder.length > 0 &&
      h264 !== SOFTWARE_ENCODER &&
      fitsHardware(ladder) && { h264Encoder: h264, softwareFallback: true as const }),
    editLists: true,
    primedAudio: true,
  };
}

/**
 * True if all H.264 hardware encoders accept the sides of the H.264 renditions: some have a minimum of 145 pixels, and
 * a maximum of 4096.
 */
const fitsHardware = (ladder: readonly VideoRendition[]) =>
  ladder
    .filter(({ codec }) => codec === "h264")
    .every(({ width, height }) => Math.min(width, height) >= 160 && Math.max(width, height) <= 4096);

/** Time until the end of the last frame, or of the audio if it continues. */
function lengthOf(videoScan: TrackScan | undefined, audioScan: TrackScan | undefined): number {
  if (videoScan === undefined) return audioScan!.end;
  return audioScan !== undefined && audioScan.end > videoScan.end + MAX_AUDIO_OVERRUN_SECONDS
    ? audioScan.end
    : videoScan.end;
}

/**
 * Start of a video that begins shortly after the audio, as in transport streams; otherwise the grid's first frame would
 * be empty.
 */
function beginningOf(videoScan: TrackScan | undefined, fps: Fraction | undefined): number {
  if (videoScan === undefined || fps === undefined) return 0;
  return videoScan.start * fps.num >= fps.den / 2 && videoScan.start <= MAX_START_TRIM_SECONDS
    ? roundToMicroseconds(videoScan.start)
    : 0;
}

function partOf(
  beginning: number,
  end: number,
  clip: { start: number; end: number } | undefined,
): { start: number; duration: number } {
  const start = Math.max(beginning, clip?.start ?? 0);
  return { start, duration: roundToMicroseconds(Math.min(clip?.end ?? Infinity, end) - start) };
}

function checkLength(duration: number, { max_duration_seconds: maxDurationSeconds }: ModelSettings): void {
  if (!(duration >= MIN_DURATION_SECONDS - 1e-6))
    throw new ProbeRejected(
      "ERR_DURATION_TOO_SHORT",
      `The video is ${Math.max(0, duration).toFixed(3)} seconds long; at least ${MIN_DURATION_SECONDS} are required.`,
    );
  if (duration > maxDurationSeconds)
    throw new ProbeRejected(
      "ERR_DURATION_EXCEED_CONSTRAINT",
      `The video is ${Math.ceil(duration)} seconds long; at most ${maxDurationSeconds} are allowed.`,
    );
}

const bitrateOf = ({ octets, start, end }: TrackScan) =>
  Math.round((octets * 8) / Math.max(end - start, MIN_DURATION_SECONDS));

function toVideoTrack(
  { tracks: { video }, bitrate, geometry }: PassthroughInput,
  { keyframeInterval }: TrackScan,
  isPassthrough: boolean,
): VideoTrack {
  const { index: stream, codec, profile, pixelFormat, rotation } = video!;
  const { width, height, interlaced, hdr } = geometry!;
  return {
    stream,
    codec: codec!,
    ...(profile !== undefined && { profile }),
    pixelFormat: pixelFormat!,
    width,
    height,
    rotation,
    interlaced,
    ...(hdr && { hdr }),
    bitrate,
    keyframeInterval: roundToMicroseconds(keyframeInterval),
    passthrough: isPassthrough,
  };
}

function toAudioTrack(
  { index: stream, codec, channels, sampleRate, language }: NonNullable<ChosenTracks["audio"]>,
  isPassthrough: boolean,
): AudioTrack {
  return {
    stream,
    codec: codec!,
    channels,
    sampleRate,
    passthrough: isPassthrough,
    ...(language !== undefined && { language }),
  };
}

/** Embedded tracks that are added to the video as audio tracks and captions. */
function embeddedIn({ moreAudio = [], subtitles = [] }: ChosenTracks): Pick<MediaModel, "moreAudio" | "subtitles"> {
  const additionalAudio = moreAudio.map(
    ({ index: stream, codec, channels, sampleRate, language, title }): EmbeddedAudio => ({
      stream,
      codec: codec!,
      channels,
      sampleRate,
      ...(language !== undefined && { language }),
      ...(title !== undefined && { title }),
    }),
  );
  // A video has one captions file per language.
  const texts = new Map<string, EmbeddedText>();
  for (const { index: stream, language = "und", title } of subtitles)
    if (!texts.has(language)) texts.set(language, { stream, language, ...(title !== undefined && { title }) });
  return {
    ...(additionalAudio.length > 0 && { moreAudio: additionalAudio }),
    ...(texts.size > 0 && { subtitles: [...texts.values()] }),
  };
}

/** Rounds to microseconds, the precision of timestamps. */
const roundToMicroseconds = (seconds: number) => Math.round(seconds * 1e6) / 1e6;
