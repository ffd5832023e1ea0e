import type { Settings } from "../../kernel/settings.ts";
import type { FileDescription } from "./describe.ts";
import type { Geometry } from "./geometry.ts";
import type { Scan } from "./index-scan.ts";
import { bitrateCapOf } from "./ladder.ts";
import type { ChosenTracks } from "./tracks.ts";

export interface PassthroughInput {
  description: FileDescription;
  tracks: ChosenTracks;
  scan: Scan;
  geometry?: Geometry;
  bitrate: number;
  /** Frames per second of the grid. */
  fps: number;
  /** True if a watermark is burned in or only a clip is shown. */
  isModified: boolean;
}

/** Profiles that every player supports; they exclude High 10 and 4:4:4. */
const SUPPORTED_PROFILES = new Set(["Baseline", "Constrained Baseline", "Main", "High"]);
const MAX_GOP_SECONDS = 10;
/**
 * A source with more than this multiple of the bitrate cap for its size needs too much bandwidth; a source below the
 * floor never does.
 */
const MAX_BITRATE_FACTOR = 3;
const FLOOR = 3_000_000;
/** ffmpeg expresses levels in tenths. */
const HIGHEST_LEVEL = 52;
/** A source that begins later than the audio by more than this, or in the middle of a GOP, needs additional frames. */
const MAX_START_DELAY_SECONDS = 0.05;

/** True if segments can be cut from the source video without encoding and every player can decode them. */
export function canPassThroughVideo(
  { description, tracks: { video }, scan, geometry, bitrate, fps, isModified }: PassthroughInput,
  { passthrough, ladder }: Pick<Settings["stream"], "passthrough" | "ladder">,
): boolean {
  if (
    !passthrough ||
    isModified ||
    description.format !== "mov" ||
    !scan.indexed ||
    video === undefined ||
    scan.video === undefined ||
    geometry === undefined
  )
    return false;
  const shortSide = Math.min(geometry.width, geometry.height);
  return (
    video.codec === "h264" &&
    SUPPORTED_PROFILES.has(video.profile ?? "") &&
    video.level <= HIGHEST_LEVEL &&
    ["yuv420p", "yuvj420p"].includes(video.pixelFormat ?? "") &&
    !geometry.interlaced &&
    video.rotation === 0 &&
    geometry.squarePixels &&
    scan.video.startsWithKeyFrame &&
    scan.video.start < MAX_START_DELAY_SECONDS &&
    scan.video.keyframeInterval <= MAX_GOP_SECONDS &&
    (scan.video.cadence.rate ?? scan.video.cadence.average) <= fps * 1.01 &&
    shortSide <= Math.max(...ladder.map((name) => Number.parseInt(name, 10))) &&
    bitrate <= Math.max(FLOOR, bitrateCapOf(shortSide) * MAX_BITRATE_FACTOR * (fps > 30.01 ? 1.5 : 1))
  );
}

/** True if segments can be cut from the source audio in the same way: AAC-LC, at most stereo. */
export function canPassThroughAudio(
  { description, tracks: { audio }, scan, isModified }: PassthroughInput,
  { passthrough }: Pick<Settings["stream"], "passthrough">,
): boolean {
  return (
    passthrough &&
    !isModified &&
    description.format === "mov" &&
    scan.indexed &&
    scan.audio !== undefined &&
    audio?.codec === "aac" &&
    audio.profile === "LC" &&
    audio.channels <= 2 &&
    scan.audio.start < MAX_START_DELAY_SECONDS
  );
}
