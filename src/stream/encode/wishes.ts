import type { ObjectHandle } from "../../store/index.ts";
import type { Video } from "../videos/video.ts";

/** A segment that is not there yet, with those who wait for it. */
export interface Wish {
  readonly key: string;
  readonly video: Video;
  readonly rendition: string;
  readonly n: number | "init";
  readonly waiters: Set<Waiter>;
  /** That makes it; absent: it waits for its turn. */
  run: Run | undefined;
  /** Runs that ended badly before it was there. */
  failures: number;
}

export interface Waiter {
  resolve(handle: ObjectHandle | undefined): void;
  reject(err: unknown): void;
}

/** One process of the encoder, and what it is to make. */
export interface Run {
  readonly video: Video;
  readonly rendition: string;
  readonly urgency: "urgent" | "soon";
  readonly wishes: Set<Wish>;
  readonly control: AbortController;
  /** Aborted when somebody waits for one of its wishes. */
  readonly awaited: AbortController;
}

export const isAwaited = ({ wishes }: Pick<Run, "wishes">): boolean =>
  [...wishes].some(({ waiters }) => waiters.size > 0);

/** Segments of audio in one run: half a second of work, most of which is starting. */
const AUDIO_ROW = 8;
/** Segments of video that viewers wait for and that follow each other: the first one comes no later for the others. */
const VIDEO_ROW = 4;

/**
 * Whose turn it is, out of those that wait: first what somebody waits for; of these the video that has the fewest runs; of these the one that came first.
 * With it comes what is made in the same run.
 */
export function pick(
  queued: Iterable<Wish>,
  running: Iterable<Run>,
  urgency: Run["urgency"],
  isAudio: (rendition: string) => boolean,
): Wish[] {
  const busy = new Map<string, number>();
  for (const { video } of running) busy.set(video.uid, (busy.get(video.uid) ?? 0) + 1);
  const candidates = [...queued].filter(({ waiters }) => (urgency === "urgent") === waiters.size > 0);
  let first: Wish | undefined;
  for (const wish of candidates)
    if (first === undefined || (busy.get(wish.video.uid) ?? 0) < (busy.get(first.video.uid) ?? 0)) first = wish;
  if (first === undefined) return [];
  const same = candidates.filter(
    ({ video, rendition }) => video.uid === first.video.uid && rendition === first.rendition,
  );
  const init = same.find(({ n }) => n === "init");
  const start = first.n === "init" ? same.find(({ n }) => n !== "init") : first;
  const row = start === undefined ? [] : rowFrom(start, same, isAudio(first.rendition) ? AUDIO_ROW : VIDEO_ROW);
  return [...(init === undefined ? [] : [init]), ...row];
}

function rowFrom(start: Wish, same: readonly Wish[], most: number): Wish[] {
  // What has failed is tried by itself: another one of its row may have been the reason.
  if (start.failures > 0) return [start];
  const byNumber = new Map(same.map((wish) => [wish.n, wish]));
  const row = [start];
  for (let n = (start.n as number) + 1; row.length < most; n++) {
    const next = byNumber.get(n);
    if (next === undefined || next.failures > 0) break;
    row.push(next);
  }
  return row;
}
