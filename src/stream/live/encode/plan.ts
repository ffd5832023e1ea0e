import type { Settings } from "../../../kernel/settings.ts";
import { bitrateCapOf } from "../../probe/index.ts";
import type { LiveRendition } from "../fragments.ts";
import type { LiveTracks, LiveVideoTrack } from "../packets.ts";
import { type PassthroughAudio, toPassthroughAudio, type PassthroughVideo, toPassthroughVideo } from "./offer.ts";

/** One video rendition to encode. */
export interface Rung {
  name: string;
  /** Even numbers. Absent if the rendition has the dimensions of the source and these are unknown. */
  width?: number;
  height?: number;
  /** Maximum bit rate in bits per second. */
  bitrate: number;
  /** H.264 level times ten. */
  level: number;
}

/** Renditions of a run. */
export interface Plan {
  renditions: LiveRendition[];
  /** True if some players cannot play the broadcast without an encoded rendition. */
  needsEncoder: boolean;
  keyFrames: "source" | "encoder";
  /** Tracks passed through. */
  video?: PassthroughVideo;
  audio?: PassthroughAudio;
  /** Encoded in one child process, if there are any. */
  encode: { rungs: Rung[]; audio: boolean };
  /** Sentences that explain why renditions are not encoded. */
  notes: string[];
}

export const LIVE_SOURCE_RENDITION = "source";
export const LIVE_AUDIO_RENDITION = "audio";
/** Encoded audio: AAC-LC, stereo. */
export const LIVE_AUDIO_RATE = 48_000;
export const LIVE_AUDIO_BITRATE = 128_000;
/** Short side of renditions encoded beyond the limit, or without a known size. */
const LOW_COST_SIDE = 360;
const MAX_SIDE = 1080;
/** Ratio of peak to average bitrate, for publishers with a constant rate. */
const PEAK_FACTOR = 1.25;
/** H.264 table A-1 at 60 frames a second: level, macroblocks per frame and per second. */
const LEVELS = [
  [31, 3600, 108_000],
  [32, 5120, 216_000],
  [42, 8704, 522_240],
  [51, 36_864, 983_040],
] as const;

/** Returns the maximum number of rungs, and the number required to show the broadcast at all. */
export function encoderDemand(
  tracks: LiveTracks,
  ladder: Settings["live"]["ladder"],
): { wanted: number; needed: number } {
  if (tracks.video === undefined) return { wanted: 0, needed: 0 };
  const smaller = smallerSides(tracks.video, ladder).length;
  if (toPassthroughVideo(tracks.video) === undefined) return { wanted: 1 + smaller, needed: 1 };
  return isPlayedEverywhere(tracks.video)
    ? { wanted: smaller, needed: 0 }
    : { wanted: Math.max(1, smaller), needed: 1 };
}

interface RunLimits {
  /** Maximum number of rungs to encode. */
  slots: number;
  /** Encode at the lowest cost. */
  lowCost: boolean;
  /** True if audio may be encoded; it does not require a slot. */
  audio: boolean;
  /** Reason for the limited number of renditions: the end of a sentence. */
  reason: string;
}

/** Undefined if nothing can be offered. */
export function planRun(
  tracks: LiveTracks,
  ladder: Settings["live"]["ladder"],
  { slots, lowCost, audio: isAudioAllowed, reason }: RunLimits,
): Plan | undefined {
  const video = tracks.video && toPassthroughVideo(tracks.video);
  const audio = tracks.audio && toPassthroughAudio(tracks.audio);
  const needsVideoEncode = tracks.video !== undefined && video === undefined;
  const needsAudioEncode = tracks.audio !== undefined && audio === undefined;
  const isMuted = needsAudioEncode && !isAudioAllowed;
  if ((needsVideoEncode && slots === 0) || (isMuted && tracks.video === undefined)) return undefined;
  const sourceRungs = needsVideoEncode
    ? [createRung(LIVE_SOURCE_RENDITION, tracks.video!, lowCost ? LOW_COST_SIDE : MAX_SIDE)]
    : [];
  const smaller = tracks.video === undefined ? [] : smallerSides(tracks.video, ladder);
  const made = smaller.slice(0, Math.max(0, slots - sourceRungs.length));
  const skippedSides = smaller.slice(made.length);
  const needsH264 = tracks.video !== undefined && video !== undefined && !isPlayedEverywhere(tracks.video);
  const h264SourceRungs =
    needsH264 && smaller.length === 0 && slots > 0
      ? [toH264Rung(tracks.video!, lowCost ? LOW_COST_SIDE : MAX_SIDE)]
      : [];
  const rungs = [
    ...sourceRungs,
    ...h264SourceRungs,
    ...made.map((shortSide) => createRung(`${shortSide}p`, tracks.video!, shortSide)).toReversed(),
  ];
  const audioRenditions = audio
    ? [liveAudioRendition(audio.codecs, audio.channels)]
    : needsAudioEncode && !isMuted
      ? [liveAudioRendition("mp4a.40.2", 2)]
      : [];
  const renditions = [...(video ? [offeredRendition(video)] : []), ...rungs.map(encodedRendition), ...audioRenditions];
  return {
    renditions,
    needsEncoder: needsVideoEncode || needsH264,
    keyFrames: needsVideoEncode ? "encoder" : "source",
    encode: { rungs, audio: needsAudioEncode && !isMuted },
    notes: [
      ...(skippedSides.length === 0
        ? []
        : [
            `${skippedSides.map((shortSide) => `${shortSide}p`).join(" and ")} ${skippedSides.length === 1 ? "is" : "are"} not encoded: ${reason}.`,
          ]),
      ...(needsH264 && rungs.length === 0
        ? [
            `No H.264 rendition is encoded: ${reason}. Players that do not support ${tracks.video!.codec.toUpperCase()} cannot play the broadcast.`,
          ]
        : []),
      ...(isMuted ? [`Audio is not encoded: ${reason}.`] : []),
    ],
    ...(video && { video }),
    ...(audio && { audio }),
  };
}

/** Short sides of the renditions below the source, smallest first. */
function smallerSides({ width, height }: LiveVideoTrack, ladder: Settings["live"]["ladder"]): number[] {
  const sourceSide = Math.min(width, height);
  return [...new Set(ladder.map((name) => Number.parseInt(name, 10)))]
    .filter((shortSide) => shortSide < sourceSide)
    .toSorted((a, b) => a - b);
}

/** HEVC and AV1 are passed through, but not every browser can play them. */
const isPlayedEverywhere = ({ codec }: LiveVideoTrack) => codec === "h264";

/** H.264 rendition at the source resolution, for a ladder without a smaller rung. */
function toH264Rung(track: LiveVideoTrack, maxSide: number): Rung {
  const made = createRung("h264", track, maxSide);
  return made.width === undefined || made.height === undefined
    ? made
    : { ...made, name: `${Math.min(made.width, made.height)}p` };
}

const toEven = (pixels: number) => Math.max(2, 2 * Math.round(pixels / 2));

function createRung(name: string, { width, height }: LiveVideoTrack, maxSide: number): Rung {
  const sourceSide = Math.min(width, height);
  if (sourceSide === 0) return { name, bitrate: bitrateCapOf(MAX_SIDE), level: LEVELS.at(-1)![0] };
  const scale = Math.min(1, maxSide / sourceSide);
  const size = { width: toEven(width * scale), height: toEven(height * scale) };
  return { name, ...size, bitrate: bitrateCapOf(Math.min(size.width, size.height)), level: levelOf(size) };
}

function levelOf({ width, height }: { width: number; height: number }): number {
  const size = Math.ceil(width / 16) * Math.ceil(height / 16);
  return (LEVELS.find(([, picture, second]) => size <= picture && size * 60 <= second) ?? LEVELS.at(-1)!)[0];
}

const hasSize = ({ width, height }: { width?: number; height?: number }) =>
  width === undefined || height === undefined || width === 0 || height === 0 ? {} : { width, height };

/** The publisher's bitrate is not known in advance; it is estimated from the frame size. */
function offeredRendition(offer: PassthroughVideo): LiveRendition {
  const average = bitrateCapOf(Math.min(offer.width, offer.height) || MAX_SIDE);
  return {
    name: LIVE_SOURCE_RENDITION,
    kind: "video",
    codecs: offer.codecs,
    peakBandwidth: Math.round(average * PEAK_FACTOR),
    averageBandwidth: average,
    ...hasSize(offer),
  };
}

function encodedRendition({ name, bitrate, level, ...size }: Rung): LiveRendition {
  return {
    name,
    kind: "video",
    codecs: `avc1.6400${level.toString(16)}`,
    peakBandwidth: Math.round(bitrate * PEAK_FACTOR),
    averageBandwidth: bitrate,
    ...hasSize(size),
  };
}

const liveAudioRendition = (codecs: string, channels: number): LiveRendition => ({
  name: LIVE_AUDIO_RENDITION,
  kind: "audio",
  codecs,
  channels,
  peakBandwidth: Math.round(LIVE_AUDIO_BITRATE * PEAK_FACTOR),
  averageBandwidth: LIVE_AUDIO_BITRATE,
});
