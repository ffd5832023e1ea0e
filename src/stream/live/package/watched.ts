import type { SegmentDuration } from "../../viewed/index.ts";
import { parseSegmentFile } from "./pieces.ts";
import type { LiveSources } from "./sources.ts";

/**
 * Durations for broadcasts and their recordings: video segments and parts, or audio ones if they have no video. Undefined
 * for other videos.
 */
export function createLiveSegmentDuration(sources: LiveSources): SegmentDuration {
  return async ({ video, params: { rendition = "", file = "" } }) => {
    const source = await sources.of(video);
    if (source === undefined) return undefined;
    const { n, part } = parseSegmentFile(file) ?? {};
    if (n === undefined) return 0;
    const {
      timeline: { segments, runs },
      broadcast,
    } = source;
    const presentRenditions = (segments[n] === undefined ? runs.at(-1) : runs[segments[n].run])?.renditions ?? [];
    const kind = presentRenditions.some((candidate) => candidate.kind === "video") ? "video" : "audio";
    if (presentRenditions.find(({ name }) => name === rendition)?.kind !== kind) return 0;
    if (part !== undefined) return broadcast?.recent.find(rendition, n)?.parts[part]?.duration ?? 0;
    return segments[n]?.durations[rendition] ?? 0;
  };
}
