import type { SegmentGrid } from "../model.ts";

/** Every audio rendition: AAC-LC, stereo. */
export const AUDIO_RATE = 48_000;
/** Samples of one AAC frame: ISO 14496-3 4.5.1.1. */
export const AUDIO_FRAME = 1024;
export const AUDIO_CHANNELS = 2;
/** Bits per second. */
export const AUDIO_BITRATE = 128_000;

/** AAC frames, counted from second zero of the video: frame k is heard from sample k * 1024 on. */
export interface AudioFrames {
  first: number;
  count: number;
}

/**
 * What segment n has: it begins with the frame in which the first picture of the segment is shown (so up to 21 ms before it), and ends where the next
 * one begins; the last one ends with the last picture. Never empty. Multiplied by AUDIO_FRAME these are times on a scale of AUDIO_RATE.
 */
export function audioFrames(segments: SegmentGrid, n: number): AudioFrames {
  const first = firstFrame(segments, n);
  return { first, count: firstFrame(segments, n + 1) - first };
}

/** Of the whole rendition. */
export const audioFrameCount = (segments: SegmentGrid): number => firstFrame(segments, segments.count);

function firstFrame({ fps, framesPerSegment, frames, count }: SegmentGrid, n: number): number {
  const pictures = n >= count ? frames : n * framesPerSegment;
  const scaled = (pictures * fps.den * AUDIO_RATE) / (fps.num * AUDIO_FRAME);
  return n >= count ? Math.ceil(scaled) : Math.floor(scaled);
}
