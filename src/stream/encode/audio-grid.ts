import type { SegmentGrid } from "../model.ts";

/** Sample rate of every audio rendition: AAC-LC, stereo. */
export const AUDIO_RATE = 48_000;
/** Samples of one AAC frame: ISO 14496-3 4.5.1.1. */
export const AUDIO_FRAME_SAMPLES = 1024;
export const AUDIO_CHANNELS = 2;
/** Bits per second. */
export const AUDIO_BITRATE = 128_000;

/** AAC frames, counted from the start of the video: frame k starts at sample k * 1024. */
interface AudioFrames {
  first: number;
  count: number;
}

/**
 * Returns the audio frames of segment n. They start with the frame that contains the segment's first video frame (up to
 * 21 ms earlier), and end where the next segment starts; those of the last segment end with the last video frame. Never
 * empty. Multiplied by AUDIO_FRAME, the frame numbers are times in the timescale AUDIO_RATE.
 */
export function audioFrames(segments: SegmentGrid, n: number): AudioFrames {
  const first = firstFrame(segments, n);
  return { first, count: firstFrame(segments, n + 1) - first };
}

/** Returns the number of frames in the whole rendition. */
export const audioFrameCount = (segments: SegmentGrid): number => firstFrame(segments, segments.count);

function firstFrame({ fps, framesPerSegment, frames, count }: SegmentGrid, n: number): number {
  const videoFrames = n >= count ? frames : n * framesPerSegment;
  const exactAudioFrame = (videoFrames * fps.den * AUDIO_RATE) / (fps.num * AUDIO_FRAME_SAMPLES);
  return n >= count ? Math.ceil(exactAudioFrame) : Math.floor(exactAudioFrame);
}
