import type { Ids, Log } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { LiveRendition } from "../fragments.ts";
import { liveSegmentKey } from "../timeline.ts";
import { cutFragments, type CutFragments } from "./cut.ts";
import type { Journal } from "./journal.ts";
import type { RecordTable } from "./record-table.ts";

interface RecoveryDeps {
  table: RecordTable;
  journal: Journal;
  objects: Pick<ObjectStore, "put" | "delete">;
  ids: Pick<Ids, "token">;
  /** Minimum length of segments. */
  segmentSeconds: number;
  log: Log;
}

/** Maximum length of data to drop because a rendition lacks it: many players cannot handle a gap. */
const MAX_DROPPED_SECONDS = 1;

/** Encoders lag and audio is ahead of video: the most recent data is not present in every rendition. */
function trimToPlayable(cuts: CutFragments[], renditions: readonly LiveRendition[]): CutFragments[] {
  const leader = renditions[0]!.name;
  const cutsWithLeader = cuts.filter(({ fragments }) => fragments.has(leader));
  const last = cutsWithLeader.at(-1)?.fragments;
  if (last === undefined || last.size === renditions.length) return cutsWithLeader;
  const length = last.get(leader)!.reduce((sum, { duration }) => sum + duration, 0);
  return length > MAX_DROPPED_SECONDS ? cutsWithLeader : cutsWithLeader.slice(0, -1);
}

/** Every active rendition ends within this many of the last segments. */
const LOOKBACK_SEGMENTS = 20;
/** One tick, plus the rounding error of seconds written as decimals. */
const TIME_TOLERANCE_S = 0.002;

/** Converts unfinished data from a killed process into segments. Idempotent, and safe to interrupt at any point. */
export async function recoverRecording(
  video: string,
  { table, journal, objects, ids, segmentSeconds, log }: RecoveryDeps,
): Promise<void> {
  const pages = await journal.read(video);
  if (pages.length === 0) return;
  const runs = new Map((await table.runs(video)).map((run) => [run.id, run]));
  const last = await table.last(video);
  const recentSegments = last === undefined ? [] : await table.segments(video, Math.max(0, last.n - LOOKBACK_SEGMENTS));
  const endOf = (run: string, rendition: string) =>
    Math.max(
      -Infinity,
      ...recentSegments.filter((segment) => segment.run === run).map(({ ends }) => ends[rendition] ?? -Infinity),
    );
  let n = (last?.n ?? -1) + 1;
  // A new writer, because an interrupted recovery may have stored other segments with these numbers.
  const writer = ids.token(8);
  const pagesByRun = Map.groupBy(pages, ({ page }) => page.run);
  for (const run of [...runs.values()].sort((a, b) => a.started - b.started)) {
    const { id } = run;
    const runPages = pagesByRun.get(id) ?? [];
    const unlistedFragments = runPages
      .flatMap(({ page }) => page.fragments)
      .filter(({ rendition, time }) => time >= endOf(id, rendition) - TIME_TOLERANCE_S);
    for (const { start, fragments } of trimToPlayable(
      cutFragments(run.renditions, unlistedFragments, segmentSeconds),
      run.renditions,
    )) {
      const durations: Record<string, number> = {};
      const ends: Record<string, number> = {};
      let size = 0;
      const keys: string[] = [];
      for (const [rendition, list] of fragments) {
        const bytes = Buffer.concat(list.map((fragment) => fragment.bytes));
        const key = liveSegmentKey(video, rendition, { n, run: id, writer });
        await objects.put(key, bytes);
        keys.push(key);
        const end = list.at(-1)!.time + list.at(-1)!.duration;
        durations[rendition] = end - list[0]!.time;
        ends[rendition] = end;
        size += bytes.length;
      }
      if (!(await table.insertSegment(video, { n, run: id, start, durations, ends, size, writer }))) {
        log.warn(
          { video, segment: n },
          "live: recovery stopped, because another process is recovering the same recording",
        );
        return objects.delete(keys);
      }
      n++;
    }
  }
  await journal.delete(pages.map(({ key }) => key));
  log.info({ video, segments: n - (last?.n ?? -1) - 1 }, "live: unfinished segments recovered");
}
