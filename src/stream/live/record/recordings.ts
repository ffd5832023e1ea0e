import { randomIds, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Db, ObjectStore } from "../../../store/index.ts";
import { liveInitKey, liveSegmentKey, type LiveTimeline } from "../timeline.ts";
import { createJournal, journalFolder } from "./journal.ts";
import type { Recordings } from "./port.ts";
import { createRecordTable } from "./record-table.ts";
import { createRecording } from "./recording.ts";
import { recoverRecording } from "./recovery.ts";
import { recordingSummary } from "./summary.ts";

export interface RecordingsDeps {
  db: Db;
  objects: ObjectStore;
  clock: Clock;
  /** Default: random. */
  ids?: Pick<Ids, "token">;
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

const DELETE_BATCH_SIZE = 500;
/** Half a minute at the maximum bitrate, in all renditions. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

interface CachedTimeline {
  timeline: LiveTimeline;
  /** Writer of each segment, by segment number; part of the object keys. */
  writers: (string | null)[];
}

export function createRecordings({
  db,
  objects,
  clock,
  ids = randomIds,
  log,
  segmentSeconds = 2,
  pageMs = 500,
  maxQueuedOctets = MAX_WAITING_BYTES,
  maxCached = 100,
}: RecordingsDeps): Recordings {
  const table = createRecordTable(db);
  const journal = createJournal(objects);
  /** By video, least recently used first: timelines are only ever extended. */
  const cachedTimelines = new Map<string, CachedTimeline>();
  const recover = (video: string) => recoverRecording(video, { table, journal, objects, ids, segmentSeconds, log });

  async function read(video: string): Promise<CachedTimeline | undefined> {
    const cached = cachedTimelines.get(video);
    const before = cached?.timeline;
    if (before?.ended === true) return cached;
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
    const writers = [...(cached?.writers ?? [])];
    if (storedSegments.length > 0) {
      const runs = await table.runs(video);
      // A run without segments does not appear in the timeline.
      for (const { n, run: id, start, durations, starts, writer } of storedSegments) {
        writers.push(writer);
        if (now.runs.at(-1)?.id !== id) now.runs.push(runs.find((run) => run.id === id)!);
        now.segments.push({ n, run: now.runs.length - 1, start, durations, ...(starts && { starts }) });
      }
    }
    cachedTimelines.delete(video);
    if (cachedTimelines.size >= maxCached) cachedTimelines.delete(cachedTimelines.keys().next().value!);
    const recorded: CachedTimeline = { timeline: now, writers };
    cachedTimelines.set(video, recorded);
    return recorded;
  }

  const timeline = async (video: string): Promise<LiveTimeline | undefined> => (await read(video))?.timeline;

  function keyOf({ timeline: { video, runs, segments }, writers }: CachedTimeline, rendition: string, n: number) {
    const segment = segments[n];
    return segment && liveSegmentKey(video, rendition, { n, run: runs[segment.run]!.id, writer: writers[n] ?? null });
  }

  /** Removes files that failed or interrupted writes have left behind, and init segments of runs without segments. */
  async function removeUnlisted(recorded: CachedTimeline): Promise<void> {
    const { video, runs, segments } = recorded.timeline;
    const listedKeys = new Set([
      ...runs.flatMap(({ id, renditions }) => renditions.map(({ name }) => liveInitKey(video, name, id))),
      ...segments.flatMap(({ n, durations }) => Object.keys(durations).map((name) => keyOf(recorded, name, n)!)),
    ]);
    let unlistedKeys: string[] = [];
    for await (const { key } of objects.list(`stream/${video}/live/`)) {
      if (listedKeys.has(key) || key.startsWith(journalFolder(video))) continue;
      if (unlistedKeys.push(key) < DELETE_BATCH_SIZE) continue;
      await objects.delete(unlistedKeys);
      unlistedKeys = [];
    }
    await objects.delete(unlistedKeys);
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
        writer: ids.token(8),
        clock,
        log,
        pageMs,
        maxQueuedOctets,
        onFault,
      });
    },
    async stored(video, rendition, segmentOrRun) {
      if (typeof segmentOrRun !== "number") return objects.open(liveInitKey(video, rendition, segmentOrRun.run));
      let recorded = cachedTimelines.get(video);
      if (recorded?.timeline.segments[segmentOrRun] === undefined) recorded = await read(video);
      const key = recorded && keyOf(recorded, rendition, segmentOrRun);
      return key === undefined ? undefined : objects.open(key);
    },
    async finish(video) {
      await recover(video);
      await table.end(video, clock.now());
      const recorded = (await read(video))!;
      await removeUnlisted(recorded).catch((err: unknown) =>
        log.warn({ err, video }, "live: failed to remove orphaned recording files"),
      );
      return recordingSummary(recorded.timeline, await table.size(video));
    },
    async clean(video) {
      cachedTimelines.delete(video);
      await table.delete(video);
    },
  };
}
