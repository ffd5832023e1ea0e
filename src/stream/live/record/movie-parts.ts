import type { LiveRendition } from "../fragments.ts";
import type { LiveTimeline } from "../timeline.ts";
import type { MoviePart, MovieTrack } from "./movie.ts";

/** Tracks of a timeline to include in a file: the largest video and the audio of every run, segments [from, to]. */
export function moviePartsOf({ runs, segments }: LiveTimeline, from = 0, to = Infinity): MoviePart[] {
  const parts: MoviePart[] = [];
  for (const [place, { id, renditions }] of runs.entries()) {
    const runSegments = segments.filter(({ n, run }) => run === place && n >= from && n <= to);
    const tracks = [renditions.find(isVideo), renditions.find(({ kind }) => kind === "audio")].flatMap((rendition) => {
      if (rendition === undefined) return [];
      const { name, kind } = rendition;
      const numbers = runSegments.filter(({ durations }) => durations[name] !== undefined).map(({ n }) => n);
      return numbers.length === 0 ? [] : [{ kind, rendition: name, segments: numbers } satisfies MovieTrack];
    });
    if (tracks.length > 0) parts.push({ run: id, tracks });
  }
  return parts;
}

/** The largest rendition comes first. */
const isVideo = ({ kind }: LiveRendition) => kind === "video";
