import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";
import { joinInOwnMemory } from "./own-memory.ts";

/** A video frame to be put into a fragment. Times in ticks of 1/90,000 of a second. */
interface VideoFrame {
  /** Decoding time. */
  time: number;
  /** Offset from decoding to presentation. */
  shift: number;
  key: boolean;
  data: Buffer;
}

/**
 * Groups video frames into fragments: a fragment ends before the next frame would exceed its length, and before a key
 * frame.
 */
interface VideoFragments {
  add(videoFrame: VideoFrame): void;
  /** Emits the remaining frames. */
  end(): void;
}

/** Represents milliseconds and 90 kHz clocks exactly. */
export const VIDEO_TIMESCALE = 90_000;
export const toVideoTicks = (microseconds: number): number => Math.round((microseconds * VIDEO_TIMESCALE) / 1_000_000);
/** Duration used for a frame whose duration is unknown. */
const FALLBACK_DURATION = VIDEO_TIMESCALE / 25;
/** More frames than a fragment holds at the maximum frame rate: streams whose clock does not advance are cut too. */
const MAX_FRAMES = 240;
export const TRACK_ID = 1;
/** Tolerance for timestamps rounded to milliseconds; without it, every second fragment would be one frame short. */
const ROUNDING_TICKS = (2 * VIDEO_TIMESCALE) / 1000;

/**
 * A frame lasts until the next one, so its duration is exact, and a fragment is emitted one frame after the last frame
 * in it has arrived.
 */
export function createVideoFragments({
  rendition,
  partMs,
  onFragment,
}: {
  rendition: string;
  partMs: number;
  onFragment(fragment: LiveFragment): void;
}): VideoFragments {
  const maxPartTicks = (partMs * VIDEO_TIMESCALE) / 1000 + ROUNDING_TICKS;
  let videoFrames: (VideoFrame & { duration: number })[] = [];
  let sequence = 0;
  let duration = FALLBACK_DURATION;

  function cutFragment(next?: VideoFrame) {
    const [first] = videoFrames;
    if (first === undefined) return;
    const samples = videoFrames.map(({ duration: sampleDuration, data, shift, key }) => ({
      duration: sampleDuration,
      size: data.length,
      shift,
      sync: key,
    }));
    const head = writeFragment({ track: TRACK_ID, sequence: ++sequence, time: first.time, samples });
    const bytes = joinInOwnMemory([head, ...videoFrames.map(({ data }) => data)]);
    const lasts = samples.reduce((sum, sample) => sum + sample.duration, 0);
    videoFrames = [];
    onFragment({
      rendition,
      time: first.time / VIDEO_TIMESCALE,
      duration: lasts / VIDEO_TIMESCALE,
      key: first.key,
      offset: first.shift / VIDEO_TIMESCALE,
      frames: samples.length,
      bytes,
      ...(next?.key === true && { nextKey: (next.time + next.shift) / VIDEO_TIMESCALE }),
    });
  }

  return {
    add(videoFrame) {
      const last = videoFrames.at(-1);
      // Players cannot distinguish two frames with the same time.
      const time = last === undefined ? videoFrame.time : Math.max(videoFrame.time, last.time + 1);
      if (last !== undefined) {
        last.duration = duration = time - last.time;
        if (videoFrame.key || time - videoFrames[0]!.time + duration > maxPartTicks || videoFrames.length >= MAX_FRAMES)
          cutFragment(videoFrame);
      }
      videoFrames.push({ ...videoFrame, time, shift: videoFrame.shift - (time - videoFrame.time), duration });
    },
    end: () => cutFragment(),
  };
}
