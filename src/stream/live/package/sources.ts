import { streamErrors } from "../../errors.ts";
import type { Video } from "../../videos/index.ts";
import type { LiveRendition } from "../fragments.ts";
import type { LiveTimeline } from "../timeline.ts";
import type { Broadcast } from "./broadcast.ts";
import { type Source, liveTargetDuration } from "./lists.ts";
import type { PlaylistSettings } from "./playlists.ts";

/** A broadcast or its recording, from any source. */
export interface LiveSource extends Source, Pick<PlaylistSettings, "targetDuration"> {
  /** Set if this process packages the broadcast. */
  broadcast?: Broadcast;
  /** Renditions currently offered. */
  renditions: readonly LiveRendition[];
}

interface LiveSourcesDeps {
  packages: { of(video: string): Broadcast | undefined };
  /** Timeline of a recording, or of a broadcast in another process. Undefined: nothing is stored for the video. */
  timelineOf(video: string): Promise<LiveTimeline | undefined>;
}

/** Recordings do not change: the most recently used timelines stay in memory, up to this many segments in total. */
const MAX_SEGMENTS = 500_000;

export interface LiveSources {
  /** Undefined: the video is neither a broadcast nor a recording. */
  of(video: Pick<Video, "uid" | "liveInput">): Promise<LiveSource | undefined>;
}

export function createLiveSources({ packages, timelineOf }: LiveSourcesDeps): LiveSources {
  const recordings = new Map<string, LiveSource>();

  async function stored(uid: string): Promise<LiveSource | undefined> {
    const known = recordings.get(uid);
    if (known !== undefined) return known;
    const timeline = await timelineOf(uid);
    if (timeline === undefined) return undefined;
    const source = {
      timeline,
      targetDuration: liveTargetDuration(timeline.segments),
      renditions: timeline.ended ? renditionsOf(timeline) : (timeline.runs.at(-1)?.renditions ?? []),
    };
    if (!timeline.ended) return source;
    recordings.set(uid, source);
    let segments = [...recordings.values()].reduce((sum, one) => sum + one.timeline.segments.length, 0);
    for (const [oldest, one] of recordings) {
      if (segments <= MAX_SEGMENTS || oldest === uid) break;
      segments -= one.timeline.segments.length;
      recordings.delete(oldest);
    }
    return source;
  }

  return {
    async of({ uid, liveInput }) {
      if (liveInput === undefined) return undefined;
      const broadcast = packages.of(uid);
      if (broadcast === undefined) return stored(uid);
      const timeline = broadcast.timeline();
      if (timeline.ended) {
        // If the rest of the broadcast could not be stored, the recording ends earlier.
        const recording = await stored(uid);
        if (recording?.timeline.ended === true && recording.timeline.segments.length !== timeline.segments.length)
          return recording;
      }
      if (!broadcast.isRunning && !timeline.ended) {
        // No publisher is connected to this process: one may have connected to another.
        const elsewhere = await stored(uid);
        if (
          elsewhere !== undefined &&
          (elsewhere.timeline.ended || elsewhere.timeline.segments.length > timeline.segments.length)
        )
          return elsewhere;
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
 * Renditions present in every run that has video or audio, otherwise all renditions; with the highest bandwidth of any
 * run.
 */
function renditionsOf({ runs }: LiveTimeline): LiveRendition[] {
  return (["video", "audio"] as const).flatMap((kind) => {
    const having = runs
      .map(({ renditions }) => renditions.filter((one) => one.kind === kind))
      .filter(({ length }) => length > 0);
    const byName = [...Map.groupBy(having.flat(), ({ name }) => name).values()];
    const common = byName.filter((all) => all.length === having.length);
    return (common.length > 0 ? common : byName).map((all) => {
      const last = all.at(-1)!;
      return {
        ...last,
        peakBandwidth: Math.max(...all.map((one) => one.peakBandwidth)),
        averageBandwidth: Math.max(...all.map((one) => one.averageBandwidth)),
      };
    });
  });
}

/**
 * Checks that a rendition has a playlist: a viewer of a dropped rendition continues with its gaps. Throws
 * segmentNotFound.
 */
export function checkRendition({ renditions, timeline: { runs } }: LiveSource, name: string): void {
  const has = (all: readonly LiveRendition[]) => all.some((one) => one.name === name);
  if (!has(renditions) && !runs.some((run) => has(run.renditions)))
    throw streamErrors.segmentNotFound({ segment: "list", rendition: name });
}
