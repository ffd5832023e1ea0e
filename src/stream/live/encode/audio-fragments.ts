import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";
import { joinInOwnMemory } from "./own-memory.ts";
import { TRACK_ID } from "./picture-fragments.ts";

/** Groups audio frames into fragments. Times are counted in samples and follow the average packet times. */
interface AudioFragments {
  /** `time`: microseconds, with the jitter of the packet times. */
  add(time: number, data: Buffer): void;
  /** Reports a video key frame presented at `time` (microseconds). A fragment ends there, because a segment may. */
  cutAt(time: number): void;
  /**
   * Confirms that all key frames presented before `time` (microseconds) have been reported. With `followsVideo`, frames
   * wait for this.
   */
  setVideoTime(time: number): void;
  /** Emits the remaining frames. */
  end(): void;
}

interface AudioFragmentsOptions {
  rendition: string;
  partMs: number;
  /** Ticks per second. */
  sampleRate: number;
  /** Samples per frame. */
  frame: number;
  /** The run has video, and audio fragments end at its key frames. */
  followsVideo?: boolean;
  onFragment(fragment: LiveFragment): void;
}

/** A larger offset is treated as a gap or as duplicate audio. */
const GAP_SECONDS = 0.1;
/**
 * RTMP packet times are in milliseconds, some off by several: the distance to the sample count is averaged over this
 * many frames.
 */
const AVERAGED_FRAMES = 64;
const NEAR_ENOUGH_SECONDS = 0.002;
/**
 * Samples by which the nominal duration of one frame is changed until the average is near enough: inaudible, and many
 * times the drift of a clock.
 */
const NUDGE = 8;
const MAX_WAIT_FOR_CUT_SECONDS = 2;
/** Maximum audio queued while frames wait for the video, in seconds and, for clocks that do not advance, in frames. */
const MAX_WAIT_SECONDS = 2;
const MAX_WAITING_FRAMES = 500;

export function createAudioFragments({
  rendition,
  partMs,
  sampleRate,
  frame,
  followsVideo = false,
  onFragment,
}: AudioFragmentsOptions): AudioFragments {
  const maxPartSamples = (partMs * sampleRate) / 1000;
  const gap = GAP_SECONDS * sampleRate;
  let samples: { duration: number; size: number; shift: number; sync: boolean }[] = [];
  let data: Buffer[] = [];
  let start = 0;
  /** Start of the next frame; undefined before the first. */
  let frameTime: number | undefined;
  let averageOffset = 0;
  /**
   * Presentation times of video key frames, in samples; `reachedTime` is the earliest possible time of the next one.
   */
  let cuts: number[] = [];
  let reachedTime = followsVideo ? -Infinity : Infinity;
  let waiting: { target: number; bytes: Buffer }[] = [];
  let sequence = 0;

  function cutFragment(nextKey?: number) {
    if (samples.length === 0) return;
    const head = writeFragment({ track: TRACK_ID, sequence: ++sequence, time: start, samples });
    const bytes = joinInOwnMemory([head, ...data]);
    const fragment: LiveFragment = {
      rendition,
      time: start / sampleRate,
      duration: (frameTime! - start) / sampleRate,
      key: true,
      bytes,
      ...(nextKey !== undefined && { nextKey: nextKey / sampleRate }),
    };
    samples = [];
    data = [];
    onFragment(fragment);
  }

  /** Nominal duration of the frame. */
  function durationOf(target: number): number {
    averageOffset += (target - frameTime! - averageOffset) / AVERAGED_FRAMES;
    if (Math.abs(averageOffset) < NEAR_ENOUGH_SECONDS * sampleRate) return frame;
    const correction = Math.sign(averageOffset) * NUDGE;
    averageOffset -= correction;
    return frame + correction;
  }

  function place({ target, bytes }: (typeof waiting)[number]) {
    frameTime ??= Math.round(target);
    // Audio for this time has already been received. Frames are accepted again when the packet clock has caught up.
    if (target < frameTime - gap) return;
    if (isFull()) cutFragment();
    if (target > frameTime + gap) {
      cutFragment();
      frameTime = Math.round(target);
      averageOffset = 0;
      endAtKey();
    }
    if (samples.length === 0) start = frameTime;
    const duration = durationOf(target);
    samples.push({ duration, size: bytes.length, shift: 0, sync: true });
    data.push(bytes);
    frameTime += duration;
    settle();
  }

  /** A frame that spans a key frame belongs to the side with most of its samples. */
  function endAtKey() {
    const next = frameTime! + frame / 2;
    if (cuts.length === 0 || next < cuts[0]!) return;
    cutFragment(cuts.findLast((cut) => cut <= next));
    cuts = cuts.filter((cut) => cut > next);
  }

  /** Emits a fragment that ends at a key frame, or a full fragment once no key frame can precede the next frame. */
  function settle() {
    if (samples.length === 0) return;
    endAtKey();
    if (reachedTime > frameTime! + frame / 2 && isFull()) cutFragment();
  }

  const isFull = () => samples.length > 0 && frameTime! - start + frame > maxPartSamples;

  function release() {
    const newestTarget = waiting.at(-1)?.target ?? 0;
    let count = 0;
    for (const { target } of waiting) {
      const isWaitTooLong =
        newestTarget - target > MAX_WAIT_SECONDS * sampleRate || waiting.length - count > MAX_WAITING_FRAMES;
      if (!isWaitTooLong && reachedTime <= target + frame / 2) break;
      place(waiting[count++]!);
    }
    if (count > 0) waiting = waiting.slice(count);
  }

  return {
    add(time, bytes) {
      waiting.push({ target: (time * sampleRate) / 1_000_000, bytes });
      release();
    },
    cutAt(time) {
      const key = (time * sampleRate) / 1_000_000;
      // A fragment that has been emitted cannot be cut.
      if (
        frameTime !== undefined &&
        key > frameTime - frame / 2 &&
        key < frameTime + MAX_WAIT_FOR_CUT_SECONDS * sampleRate
      )
        cuts.push(key);
      settle();
    },
    setVideoTime(time) {
      reachedTime = Math.max(reachedTime, (time * sampleRate) / 1_000_000);
      settle();
      release();
    },
    end() {
      reachedTime = Infinity;
      for (const waitingFrame of waiting) place(waitingFrame);
      waiting = [];
      cutFragment();
    },
  };
}
