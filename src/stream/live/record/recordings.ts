import type { Clock, Log } from "../../../kernel/index.ts";
import type { Db, ObjectStore } from "../../../store/index.ts";
import { liveInitKey, liveSegmentKey, type LiveTimeline } from "../timeline.ts";
import { createJournal } from "./journal.ts";
import type { Recordings } from "./port.ts";
import { createRecordTable } from "./record-table.ts";
import { createRecording } from "./recording.ts";
import { recoverOpen } from "./recovery.ts";
import { recordingSummary } from "./summary.ts";

export interface RecordingsDeps {
  db: Db;
  objects: ObjectStore;
  clock: Clock;
  log: Log;
  /** settings.live.segment_seconds: length of segments recovered after a crash. Default 2. */
  segmentSeconds?: number;
  /** Approximate milliseconds of a broadcast that a crash may lose. Default 500. */
  pageMs?: number;
  /** Maximum octets of one broadcast queued for a slow disk. Default 128 MiB. */
  maxQueuedOctets?: number;
  /** Maximum number of cached timelines. Default 100. */
  maxCached?: number;
}

/** Half a minute at the maximum bitrate, in all renditions. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

export function createRecordings({
  db,
  objects,
  clock,
  log,
  segmentSeconds = 2,
  pageMs = 500,
  maxQueuedOctets = MAX_WAITING_BYTES,
  maxCached = 100,
}: RecordingsDeps): Recordings {
  const table = createRecordTable(db);
  const journal = createJournal(objects);
  /** By video, least recently used first: timelines are only ever extended. */
  const cachedTimelines = new Map<string, LiveTimeline>();
  const recover = (video: string) => recoverOpen(video, { table, journal, objects, segmentSeconds, log });

  async function timeline(video: string): Promise<LiveTimeline | undefined> {
    const before = cachedTimelines.get(video);
    if (before?.ended === true) return before;
    // Reads the row first: a segment added between the two reads cannot be missing from an ended timeline.
    const row = await table.find(video);
    if (row === undefined) return undefined;
    const storedSegments = await table.segments(video, before?.segments.length ?? 0);
    const now: LiveTimeline = {
      video,
      runs: [...(before?.runs ?? [])],
      segments: [...(before?.segments ?? [])],
      ended: row.ended,
    };
    if (storedSegments.length > 0) {
      const runs = await table.runs(video);
      // A run without segments does not appear in the timeline.
      for (const { n, run: id, start, durations, starts } of storedSegments) {
        if (now.runs.at(-1)?.id !== id) now.runs.push(runs.find((run) => run.id === id)!);
        now.segments.push({ n, run: now.runs.length - 1, start, durations, ...(starts && { starts }) });
      }
    }
    cachedTimelines.delete(video);
    if (cachedTimelines.size >= maxCached) cachedTimelines.delete(cachedTimelines.keys().next().value!);
    cachedTimelines.set(video, now);
    return now;
  }

  /**
   * Removes files left behind by a failed write: renditions of the segment after the last one, and init segments of
   * runs without segments.
   */
  async function removeUnlisted(video: string, { runs: listedRuns, segments }: LiveTimeline): Promise<void> {
    const runs = await table.runs(video);
    const next = (segments.at(-1)?.n ?? -1) + 1;
    const names = new Set(runs.flatMap(({ renditions }) => renditions.map(({ name }) => name)));
    const emptyRuns = runs.filter(({ id }) => !listedRuns.some((run) => run.id === id));
    await objects.delete([
      ...[...names].map((name) => liveSegmentKey(video, name, next)),
      ...emptyRuns.flatMap(({ id, renditions }) => renditions.map(({ name }) => liveInitKey(video, name, id))),
    ]);
  }

  return {
    timeline,
    recover,
    async open(video, { onFault = () => {} } = {}) {
      await recover(video);
      await table.begin(video);
      const before = (await timeline(video))!;
      return createRecording({
        video,
        timeline: before,
        table,
        journal,
        objects,
        clock,
        log,
        pageMs,
        maxQueuedOctets,
        onFault,
      });
    },
    async stored(video, rendition, segmentOrRun) {
      return objects.open(
        typeof segmentOrRun === "number"
          ? liveSegmentKey(video, rendition, segmentOrRun)
          : liveInitKey(video, rendition, segmentOrRun.run),
      );
    },
    async finish(video) {
      await recover(video);
      await table.end(video, clock.now());
      const fullTimeline = (await timeline(video))!;
      await removeUnlisted(video, fullTimeline).catch((err: unknown) =>
        log.warn({ err, video }, "live: failed to remove orphaned recording files"),
      );
      return recordingSummary(fullTimeline, await table.size(video));
    },
    async clean(video) {
      cachedTimelines.delete(video);
      await table.delete(video);
    },
  };
}
