import { MAIN_AUDIO, type MediaModel } from "../model.ts";
import type { Segments } from "../encode/index.ts";
import type { SegmentBytes, SourceRung } from "../playback/index.ts";
import type { Video } from "../videos/index.ts";
import type { DownloadType } from "./types.ts";

/** A rendition to mux: its initialization segment, and segments 0 to `count` - 1. */
export interface RenditionSource {
  name: string;
  count: number;
  open(segment: number | "init", signal: AbortSignal): Promise<SegmentBytes | undefined>;
}

interface SegmentSources {
  segments: Pick<Segments, "get">;
  /** If absent, the source is not offered as a rendition. */
  source?: Pick<SourceRung, "of" | "segment"> | undefined;
}

/**
 * Resolves with the renditions of a download: the source itself if it is a rendition, as it has the best quality;
 * otherwise the largest H.264 rendition of the ladder, whose missing segments are then encoded. Empty: the video has
 * nothing of this type.
 */
export async function chooseRenditions(
  video: Video,
  model: MediaModel,
  type: DownloadType,
  sources: SegmentSources,
): Promise<RenditionSource[]> {
  const sourceTracks = model.video === undefined ? undefined : await sources.source?.of(video);
  const encodedSource = (name: string): RenditionSource => ({
    name,
    count: model.segments.count,
    open: (segment, signal) => sources.segments.get(video, name, segment, { signal }),
  });
  const passthroughSource = (track: "video" | "audio", count: number): RenditionSource => ({
    name: `source ${track}`,
    count,
    open: (segment) => sources.source!.segment(video, track, segment),
  });
  const best = model.ladder.findLast(({ codec }) => codec === "h264") ?? model.ladder.at(-1);
  const chosenSources: RenditionSource[] = [];
  if (type === "default" && sourceTracks !== undefined)
    chosenSources.push(passthroughSource("video", sourceTracks.video.segments.length));
  else if (type === "default" && best !== undefined) chosenSources.push(encodedSource(best.name));
  if (sourceTracks?.audio !== undefined)
    chosenSources.push(passthroughSource("audio", sourceTracks.audio.segments.length));
  else if (model.audio !== undefined) chosenSources.push(encodedSource(MAIN_AUDIO));
  return chosenSources;
}
