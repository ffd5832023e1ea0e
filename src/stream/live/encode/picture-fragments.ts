import { writeFragment } from "../../../protocol/mp4/index.ts";
import type { LiveFragment } from "../fragments.ts";

/** One picture on its way into a fragment. Times in ticks of 1/90,000 of a second. */
export interface Picture {
  /** When it is decoded. */
  time: number;
  /** How much later it is shown. */
  shift: number;
  key: boolean;
  data: Buffer;
}

/** Cuts pictures into fragments: one leaves as soon as another picture would be too much for it, or a key frame begins the next. */
export interface PictureFragments {
  add(picture: Picture): void;
  /** Hands over what is left. */
  end(): void;
}

/** Milliseconds and 90 kHz clocks are whole in it. */
export const PICTURE_TICKS = 90_000;
export const ticksOf = (microseconds: number): number => Math.round((microseconds * PICTURE_TICKS) / 1_000_000);
/** Of a picture whose duration nothing tells. */
const SOME_DURATION = PICTURE_TICKS / 25;
/** More than a fragment ever holds at the most frames a second: streams whose clock stands still are cut too. */
const MOST_PICTURES = 240;
export const TRACK = 1;
/** Tolerance for timestamps rounded to milliseconds; without it, every second fragment would be one frame short. */
const ROUNDING = (2 * PICTURE_TICKS) / 1000;

/** A picture lasts until the next one, so its duration is exact, and a fragment leaves one picture later than its last came. */
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
      // Two pictures at one moment are none that a player can keep apart.
      const time = last === undefined ? picture.time : Math.max(picture.time, last.time + 1);
      if (last !== undefined) {
        last.duration = duration = time - last.time;
        if (picture.key || time - pictures[0]!.time + duration > part || pictures.length >= MOST_PICTURES) cut(picture);
      }
      pictures.push({ ...picture, time, shift: picture.shift - (time - picture.time), duration });
    },
    end: () => cut(),
  };
}
