import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";
import { TRACK } from "./picture-fragments.ts";

/** Cuts frames of sound into fragments: their times are counted in samples, and held to what the packets say. */
export interface SoundFragments {
  /** `time`: microseconds, jittering as the packets' times do. */
  add(time: number, data: Buffer): void;
  /** A fragment is to end where a picture begins a segment. Microseconds. */
  cutAt(time: number): void;
  /** Hands over what is left. */
  end(): void;
}

export interface SoundFragmentsOptions {
  rendition: string;
  partMs: number;
  /** Ticks a second. */
  sampleRate: number;
  /** Samples of one frame. */
  frame: number;
  onFragment(fragment: LiveFragment): void;
}

/** What is off by more is a gap, or sound that is there twice. */
const GAP_SECONDS = 0.1;
/** Packets of RTMP have times in milliseconds, some are off by several: of their distance to the count of samples an average is looked at, over so many frames. */
const AVERAGED = 64;
const NEAR_ENOUGH_SECONDS = 0.002;
/** Samples by which one frame is said to be longer or shorter, until the average is near enough: nothing that can be heard, and many times what a clock drifts. */
const NUDGE = 8;
const LONGEST_WAIT_FOR_CUT_SECONDS = 2;

export function createSoundFragments({ rendition, partMs, sampleRate, frame, onFragment }: SoundFragmentsOptions): SoundFragments {
  const part = (partMs * sampleRate) / 1000;
  const gap = GAP_SECONDS * sampleRate;
  let samples: { duration: number; size: number; shift: number; sync: boolean }[] = [];
  let data: Buffer[] = [];
  let start = 0;
  /** Where the next frame begins; undefined before the first. */
  let at: number | undefined;
  let off = 0;
  let cuts: number[] = [];
  let sequence = 0;

  function cut() {
    if (samples.length === 0) return;
    const head = writeFragment({ track: TRACK, sequence: ++sequence, time: start, samples });
    const bytes = Buffer.concat([head, ...data]);
    const fragment: LiveFragment = { rendition, time: start / sampleRate, duration: (at! - start) / sampleRate, key: true, bytes };
    samples = [];
    data = [];
    onFragment(fragment);
  }

  /** How long the frame is said to be. */
  function durationOf(target: number): number {
    off += (target - at! - off) / AVERAGED;
    if (Math.abs(off) < NEAR_ENOUGH_SECONDS * sampleRate) return frame;
    const nudge = Math.sign(off) * NUDGE;
    off -= nudge;
    return frame + nudge;
  }

  return {
    add(time, bytes) {
      const target = (time * sampleRate) / 1_000_000;
      at ??= Math.round(target);
      // There is sound for this moment already; what comes fits again when the packets' clock has caught up.
      if (target < at - gap) return;
      if (target > at + gap) {
        cut();
        at = Math.round(target);
        off = 0;
      }
      if (cuts.length > 0 && at + frame / 2 >= cuts[0]!) {
        cut();
        cuts = cuts.filter((place) => place > at! + frame / 2);
      }
      if (samples.length === 0) start = at;
      const duration = durationOf(target);
      samples.push({ duration, size: bytes.length, shift: 0, sync: true });
      data.push(bytes);
      at += duration;
      if (at - start + frame > part) cut();
    },
    cutAt(time) {
      const place = (time * sampleRate) / 1_000_000;
      // The sound is ahead of the picture: it cannot be cut any more where it has left.
      if (at !== undefined && place > at - frame / 2 && place < at + LONGEST_WAIT_FOR_CUT_SECONDS * sampleRate) cuts.push(place);
    },
    end: cut,
  };
}
