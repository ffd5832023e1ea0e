import type { Movie, Track } from "./movie.ts";

/** How a simple edit list places the samples of a track. */
interface Placement {
  /** Track ticks subtracted from each sample time. If negative, the track starts after the movie. */
  offset: number;
  /** From the start of the movie to the end of the track, in track ticks; Infinity without an edit list. */
  end: number;
}

/**
 * Returns the placement; undefined if edits repeat samples, play them at a different speed, or reorder them. ISO
 * 14496-12, 8.6.6: an empty edit delays the track; the media time of the next edit is the start of the track.
 */
export function placementOf({ edits, timescale }: Track, movie: Pick<Movie, "timescale">): Placement | undefined {
  const toTicks = (duration: number) => Math.round((duration / movie.timescale) * timescale);
  const shownEdits = edits.filter(({ mediaTime }) => mediaTime !== undefined);
  if (edits.length === 0) return { offset: 0, end: Infinity };
  const [edit] = shownEdits;
  if (shownEdits.length !== 1 || edit!.rate !== 1 || edits.at(-1) !== edit) return undefined;
  const delay = toTicks(edits.slice(0, -1).reduce((sum, { duration }) => sum + duration, 0));
  // Fragmented and streamed files do not specify the duration.
  return { offset: edit!.mediaTime! - delay, end: edit!.duration === 0 ? Infinity : delay + toTicks(edit!.duration) };
}
