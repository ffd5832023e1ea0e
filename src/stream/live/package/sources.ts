import { streamErrors } from "../../errors.ts";
import type { Video } from "../../videos/index.ts";
import type { LiveRendition } from "../fragments.ts";
import type { LiveTimeline } from "../timeline.ts";
import type { Broadcast } from "./broadcast.ts";
import { type SegmentSource, liveTargetDuration } from "./lists.ts";
import type { PlaylistSettings } from "./playlists.ts";

/** A broadcast or its recording, from any source. */
export interface LiveSource extends SegmentSource, Pick<PlaylistSettings, "targetDuration"> {
  /** Set if this process packages the broadcast. */
  broadcast?: Broadcast;
  /** Renditions currently offered. */
  renditions: readonly LiveRendition[];
}

interface LiveSourcesDeps {
  packages: { of(video: string): Broadcast | undefined };
  /** Timeline of a recording, or of a broadcast in another process. Undefined if nothing is stored for the video. */
  timelineOf(video: string): Promise<LiveTimeline | undefined>;
}

/** Recordings do not change: the most recently used timelines stay in memory, up to this many segments in total. */
const MAX_SEGMENTS = 500_000;

export interface LiveSources {
  /** Undefined if the video is neither a broadcast nor a recording. */
  of(video: Pick<Video, "uid" | "liveInput">): Promise<LiveSource | undefined>;
}

export function createLiveSources({ packages, timelineOf }: LiveSourcesDeps): LiveSources {
  const recordings = new Map<string, LiveSource>();

  async function recordedSource(uid: string): Promise<LiveSource | undefined> {
    const cachedSource = recordings.get(uid);
    if (cachedSource !== undefined) return cachedSource;
    const timeline = await timelineOf(uid);
    if (timeline === undefined) return undefined;
    const source = {
      timeline,
      targetDuration: liveTargetDuration(timeline.segments),
      renditions: timeline.ended ? renditionsOf(timeline) : (timeline.runs.at(-1)?.renditions ?? []),
    };
    if (!timeline.ended) return source;
    recordings.set(uid, source);
    let segments = [...recordings.values()].reduce((sum, recording) => sum + recording.timeline.segments.length, 0);
    for (const [oldest, recording] of recordings) {
      if (segments <= MAX_SEGMENTS || oldest === uid) break;
      segments -= recording.timeline.segments.length;
      recordings.delete(oldest);
    }
    return source;
  }

  return {
    async of({ uid, liveInput }) {
      if (liveInput === undefined) return undefined;
      const broadcast = packages.of(uid);
      if (broadcast === undefined) return recordedSource(uid);
      const timeline = broadcast.timeline();
      if (timeline.ended) {
        // If the rest of the broadcast could not be stored, the recording ends earlier.
        const recording = await recordedSource(uid);
        if (recording?.timeline.ended === true && recording.timeline.segments.length !== timeline.segments.length)
          return recording;
      }
      if (!broadcast.isRunning && !timeline.ended) {
        // No publisher is connected to this process: one may have connected to another.
        const otherRecording = await recordedSource(uid);
        if (
          otherRecording !== undefined &&
          (otherRecording.timeline.ended || otherRecording.timeline.segments.length > timeline.segments.length)
        )
          return otherRecording;
      }
      const { recent, targetDuration } = broadcast;
      return {
        timeline,
        recent,
        targetDuration,
        broadcast,
        // Evaluated after the viewer has waited for the broadcast to start.
        get renditions() {
          return (
            timeline.ended
              ? renditionsOf(timeline)
              : (broadcast.current?.renditions ?? timeline.runs.at(-1)?.renditions ?? [])
          ).map(broadcast.rates.of);
        },
      };
    },
  };
}

/**
 * Returns the renditions present in every run that has video or audio, otherwise all renditions; with the highest
 * bandwidth of any run.
 */
function renditionsOf({ runs }: LiveTimeline): LiveRendition[] {
  return (["video", "audio"] as const).flatMap((kind) => {
    const renditionsByRun = runs
      .map(({ renditions }) => renditions.filter((rendition) => rendition.kind === kind))
      .filter(({ length }) => length > 0);
    const byName = [...Map.groupBy(renditionsByRun.flat(), ({ name }) => name).values()];
    const commonRenditions = byName.filter((variants) => variants.length === renditionsByRun.length);
    return (commonRenditions.length > 0 ? commonRenditions : byName).map((variants) => {
      const last = variants.at(-1)!;
      return {
        ...last,
        peakBandwidth: Math.max(...variants.map((variant) => variant.peakBandwidth)),
        averageBandwidth: Math.max(...variants.map((variant) => variant.averageBandwidth)),
      };
    });
  });
}

/**
 * Checks that a rendition has a playlist: a viewer of a dropped rendition continues with its gaps. Throws
 * segmentNotFound.
 */
export function checkRendition({ renditions, timeline: { runs } }: LiveSource, name: string): void {
  const includesRendition = (renditionList: readonly LiveRendition[]) =>
    renditionList.some((rendition) => rendition.name === name);
  if (!includesRendition(renditions) && !runs.some((run) => includesRendition(run.renditions)))
    throw streamErrors.segmentNotFound({ segment: "list", rendition: name });
}
