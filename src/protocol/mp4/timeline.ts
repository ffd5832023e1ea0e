import type { Movie, Track } from "./movie.ts";

/** How the edit list places the samples of a track, where it does no more than that. */
export interface Placement {
  /** Ticks of the track that are taken from the time of a sample. Negative: the track begins later than the movie. */
  offset: number;
  /** Of the movie's beginning until the track is over, in ticks of the track; Infinity without an edit list. */
  end: number;
}

/**
 * Undefined where samples are shown twice, at another speed, or in pieces: then the file is more than its samples in a row.
 * ISO 14496-12, 8.6.6: an empty edit delays the track, the media time of the one that follows is its first moment.
 */
export function placementOf({ edits, timescale }: Track, movie: Pick<Movie, "timescale">): Placement | undefined {
  const toTicks = (duration: number) => Math.round((duration / movie.timescale) * timescale);
  const shown = edits.filter(({ mediaTime }) => mediaTime !== undefined);
  if (edits.length === 0) return { offset: 0, end: Infinity };
  const [edit] = shown;
  if (shown.length !== 1 || edit!.rate !== 1 || edits.at(-1) !== edit) return undefined;
  const delay = toTicks(edits.slice(0, -1).reduce((sum, { duration }) => sum + duration, 0));
  // Fragmented and streamed files leave the duration open.
  return { offset: edit!.mediaTime! - delay, end: edit!.duration === 0 ? Infinity : delay + toTicks(edit!.duration) };
}
