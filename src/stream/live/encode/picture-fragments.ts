import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";

/** A video frame to be put into a fragment. Times in ticks of 1/90,000 of a second. */
interface Picture {
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
interface PictureFragments {
  add(picture: Picture): void;
  /** Emits the remaining frames. */
  end(): void;
}

/** Represents milliseconds and 90 kHz clocks exactly. */
export const PICTURE_TICKS = 90_000;
export const pictureTicks = (microseconds: number): number => Math.round((microseconds * PICTURE_TICKS) / 1_000_000);
/** Duration of a frame when unknown. */
const SOME_DURATION = PICTURE_TICKS / 25;
/** More frames than a fragment holds at the maximum frame rate: streams whose clock does not advance are cut too. */
const MAX_PICTURES = 240;
export const TRACK = 1;
/** Tolerance for timestamps rounded to milliseconds; without it, every second fragment would be one frame short. */
const ROUNDING = (2 * PICTURE_TICKS) / 1000;

/**
 * A frame lasts until the next one, so its duration is exact, and a fragment is emitted one frame after the last frame
 * in it has arrived.
 */
export function createPictureFragments({
  rendition,
  partMs,
  onFragment,
}: {
  rendition: string;
  partMs: number;
  onFragment(fragment: LiveFragment): void;
}): PictureFragments {
  const part = (partMs * PICTURE_TICKS) / 1000 + ROUNDING;
  let pictures: (Picture & { duration: number })[] = [];
  let sequence = 0;
  let duration = SOME_DURATION;

  function cut(next?: Picture) {
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
      time: first.time / PICTURE_TICKS,
      duration: lasts / PICTURE_TICKS,
      key: first.key,
      offset: first.shift / PICTURE_TICKS,
      frames: samples.length,
      bytes,
      ...(next?.key === true && { nextKey: (next.time + next.shift) / PICTURE_TICKS }),
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
