import type { LiveFragment, LiveRendition } from "../fragments.ts";

/** Fragments of one segment, by rendition. */
export interface CutFragments {
  start: number;
  fragments: Map<string, LiveFragment[]>;
}

/**
 * Cuts unfinished data into segments: at key frames of the first video rendition at least `seconds` apart, and all
 * other renditions at the same times. Without video, at any fragment. A fragment across a cut belongs to the side that
 * contains most of it.
 */
export function cutFragments(
  renditions: readonly LiveRendition[],
  fragments: readonly LiveFragment[],
  seconds: number,
): CutFragments[] {
  const fragmentsByRendition = Map.groupBy(fragments, ({ rendition }) => rendition);
  const leader = renditions.find(({ name }) => fragmentsByRendition.has(name));
  if (leader === undefined) return [];
  const leaderFragments = fragmentsByRendition.get(leader.name)!;
  const starts: number[] = [];
  for (const { key, time } of leaderFragments)
    if (starts.length === 0 || (key && time - starts.at(-1)! >= seconds - TOLERANCE_S)) starts.push(time);
  const segments = starts.map((start): CutFragments => ({ start, fragments: new Map() }));
  for (const { name } of renditions) {
    for (const fragment of fragmentsByRendition.get(name) ?? []) {
      const midpoint = fragment.time + fragment.duration / 2;
      const segment = segments.findLast(({ start }) => start <= midpoint) ?? segments[0]!;
      const list = segment.fragments.get(name);
      if (list === undefined) segment.fragments.set(name, [fragment]);
      else list.push(fragment);
    }
  }
  return segments;
}

/** Key frames every two seconds are 1.999 s apart on some clocks. */
const TOLERANCE_S = 0.05;
