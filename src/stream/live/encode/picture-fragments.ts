import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";

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
  add(picture: VideoFrame): void;
  /** Emits the remaining frames. */
  end(): void;
}

/** Represents milliseconds and 90 kHz clocks exactly. */
export const VIDEO_TIMESCALE = 90_000;
export const toVideoTicks = (microseconds: number): number => Math.round((microseconds * VIDEO_TIMESCALE) / 1_000_000);
/** Duration of a frame when unknown. */
const SOME_DURATION = VIDEO_TIMESCALE / 25;
/** More frames than a fragment holds at the maximum frame rate: streams whose clock does not advance are cut too. */
const MAX_PICTURES = 240;
export const TRACK = 1;
/** Tolerance for timestamps rounded to milliseconds; without it, every second fragment would be one frame short. */
const ROUNDING = (2 * VIDEO_TIMESCALE) / 1000;

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
  const part = (partMs * VIDEO_TIMESCALE) / 1000 + ROUNDING;
  let pictures: (VideoFrame & { duration: number })[] = [];
  let sequence = 0;
  let duration = SOME_DURATION;

  function cut(next?: VideoFrame) {
    const [first] = pictures;
    if (first === undefined) return;
    const samples = pictures.map(({ duration: lasts, data, shift, key }) => ({
      duration: lasts,
      size: data.length,
      shift,
      sync: key,
    }));
    const head = writeFragment({ track: TRACK, sequence: ++sequence, time: first.time, samples });
    const bytes = Buffer.concat([head, ...pictures.map(({ data }) => data)]);
    const lasts = samples.reduce((sum, sample) => sum + sample.duration, 0);
    pictures = [];
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
    add(picture) {
      const last = pictures.at(-1);
      // Players cannot distinguish two frames with the same time.
      const time = last === undefined ? picture.time : Math.max(picture.time, last.time + 1);
      if (last !== undefined) {
        last.duration = duration = time - last.time;
        if (picture.key || time - pictures[0]!.time + duration > part || pictures.length >= MAX_PICTURES) cut(picture);
      }
      pictures.push({ ...picture, time, shift: picture.shift - (time - picture.time), duration });
    },
    end: () => cut(),
  };
}
