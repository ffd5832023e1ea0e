import type { VideoRendition } from "./model.ts";

/**
 * What is encoded before all others, and what players begin with: it is encoded fast and looks well enough. 360p, or what comes next to it from
 * below, or the lowest that every player plays, or the lowest there is. Undefined: there are no pictures.
 */
export function firstRung(ladder: readonly VideoRendition[]): VideoRendition | undefined {
  const short = ({ width, height }: VideoRendition) => Math.min(width, height);
  const playable = ladder.filter(({ codec }) => codec === "h264");
  return playable.findLast((rung) => short(rung) <= 360) ?? playable[0] ?? ladder[0];
}
