import { streamErrors } from "../errors.ts";
import type { VideoTrack } from "../model.ts";

const FITS = ["crop", "clip", "scale", "fill"] as const;
export type Fit = (typeof FITS)[number];

/** A still or animated thumbnail with all defaults applied: equal requests share one stored object. */
export interface ImageRequest {
  /** Position in the video, in seconds. */
  time: number;
  width: number;
  height: number;
  fit: Fit;
  /** Animated thumbnails only. */
  motion?: { duration: number; fps: number };
}

const DEFAULT_SIDE = 640;
const MAX_SIDE_PIXELS = { still: 3840, animated: 640 };
const MAX_MOTION_S = 15;
const MAX_FPS = 25;

/** Reads the query of a thumbnail URL. Throws badParameter. */
export function readImageRequest(
  query: URLSearchParams,
  video: Pick<VideoTrack, "width" | "height">,
  { duration, defaultTime, isAnimated }: { duration: number; defaultTime: number; isAnimated: boolean },
): ImageRequest {
  const fit = query.get("fit") ?? "crop";
  if (!isFit(fit)) throw streamErrors.badParameter({ reason: `fit must be one of ${FITS.join(", ")}` });
  const maxSide = isAnimated ? MAX_SIDE_PIXELS.animated : MAX_SIDE_PIXELS.still;
  const size = fillIn({ width: pixels(query, "width", maxSide), height: pixels(query, "height", maxSide) }, video);
  const requestedTime = query.get("time");
  const time = requestedTime === null ? defaultTime : readTime(requestedTime);
  if (time === undefined) throw streamErrors.badParameter({ reason: "time must be like 8m, 5m2s or 1.5s" });
  const motion = {
    duration: readWithin(query, "duration", 5, 0.1, MAX_MOTION_S, readTime),
    fps: readWithin(query, "fps", 8, 1, MAX_FPS, Number),
  };
  // Rounded, because invisible differences would only cause more objects to be stored.
  return {
    time: Math.round(Math.min(Math.max(0, time), duration) * 100) / 100,
    ...size,
    fit,
    ...(isAnimated && { motion }),
  };
}

const isFit = (text: string): text is Fit => (FITS as readonly string[]).includes(text);

/**
 * Parses a time such as `90`, `1.5s`, `8m`, `5m2s` or `1h12m27s` and returns it in seconds. Undefined if the text has a
 * different form.
 */
export function readTime(text: string): number | undefined {
  const [, hours = "", minutes = "", seconds = ""] =
    /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,8}(?:\.\d{1,9})?)s?)?$/.exec(text) ?? [];
  if (hours === "" && minutes === "" && seconds === "") return undefined;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

function pixels(query: URLSearchParams, name: "width" | "height", maxSide: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > maxSide)
    throw streamErrors.badParameter({ reason: `${name} must be a whole number from 1 to ${maxSide}` });
  return value;
}

function readWithin(
  query: URLSearchParams,
  name: string,
  defaultValue: number,
  minValue: number,
  maxValue: number,
  read: (text: string) => number | undefined,
): number {
  const text = query.get(name);
  if (text === null) return defaultValue;
  const value = read(text);
  if (value === undefined || !(value >= minValue && value <= maxValue))
    throw streamErrors.badParameter({ reason: `${name} must be from ${minValue} to ${maxValue}` });
  return Math.round(value * 10) / 10;
}

/**
 * If one side is missing, it follows from the aspect ratio; if both are missing, the image fits into a square of 640
 * and is never enlarged.
 */
function fillIn(
  { width, height }: { width: number | undefined; height: number | undefined },
  video: Pick<VideoTrack, "width" | "height">,
): { width: number; height: number } {
  if (width !== undefined && height !== undefined) return { width, height };
  if (width !== undefined) return { width, height: clampSide((width * video.height) / video.width) };
  if (height !== undefined) return { width: clampSide((height * video.width) / video.height), height };
  const factor = Math.min(1, DEFAULT_SIDE / Math.max(video.width, video.height));
  return { width: clampSide(video.width * factor), height: clampSide(video.height * factor) };
}

const clampSide = (pixels: number) => Math.min(MAX_SIDE_PIXELS.still, Math.max(1, Math.round(pixels)));
