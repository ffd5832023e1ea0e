import type { DeliveryContext } from "../delivery/index.ts";
import { MAIN_AUDIO, SOURCE_RENDITION } from "../model.ts";
import { SOURCE_AUDIO, type SourceRung } from "../playback/index.ts";

/**
 * Seconds of video in the response to a segment request: 0 if not counted, undefined if this function does not know the
 * segment.
 */
export type SegmentDuration = (viewing: Pick<DeliveryContext, "video" | "params">) => Promise<number | undefined>;

/** Combines several functions: returns the first known duration. */
export const firstKnownDuration =
  (...durations: SegmentDuration[]): SegmentDuration =>
  async (viewing) => {
    for (const duration of durations) {
      const seconds = await duration(viewing);
      if (seconds !== undefined) return seconds;
    }
    return undefined;
  };

/**
 * Creates the function for uploaded videos. Only video segments count; audio counts only in audio-only videos.
 * `source` knows the durations of segments cut from uploaded files.
 */
export function createUploadSegmentDuration(source?: Pick<SourceRung, "of">): SegmentDuration {
  return async ({ video, params }) => {
    const { model } = video;
    const [rendition, number] = [params["rendition"]!, numberOf(params["file"])];
    if (model === null || number === undefined) return 0;
    const hasVideo = model.video !== undefined;
    if (rendition === SOURCE_RENDITION || rendition === SOURCE_AUDIO) {
      // Segments cut from the uploaded file have their own grid.
      if (hasVideo && rendition === SOURCE_AUDIO) return 0;
      const renditions = await source?.of(video);
      return (rendition === SOURCE_AUDIO ? renditions?.audio : renditions?.video)?.segments[number]?.duration;
    }
    const isWatchedRendition = hasVideo
      ? rendition !== MAIN_AUDIO && !rendition.startsWith("audio-")
      : rendition === MAIN_AUDIO;
    if (!isWatchedRendition || number >= model.segments.count) return 0;
    const { fps, framesPerSegment, frames } = model.segments;
    return (Math.min(framesPerSegment, frames - number * framesPerSegment) * fps.den) / fps.num;
  };
}

const numberOf = (file = ""): number | undefined =>
  /^\d{1,9}\.m4s$/.test(file) ? Number.parseInt(file, 10) : undefined;
