import type { Clock, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { DeliveryRoute, DeliveryContext } from "../delivery/index.ts";
import type { SegmentDuration } from "./segment-duration.ts";
import { startOfPeriod, nextPeriodStart, type Period } from "./periods.ts";
import { createViewedTable, type ViewedHour } from "./viewed-table.ts";

/** Minutes of video sent to viewers, by account. */
export interface ViewedMinutes {
  /**
   * Wraps the route to count the seconds of segments that have been sent completely. Other responses are not counted.
   * `onSegment` is called with each counted segment.
   */
  watch(
    route: DeliveryRoute,
    duration: SegmentDuration,
    onSegment?: (viewing: DeliveryContext, seconds: number) => void,
  ): DeliveryRoute;
  record(account: string, seconds: number): void;
  /**
   * Returns one point per period from the one that contains `since` to the one that contains `until`, at most `limit`.
   * Times in epoch milliseconds.
   */
  minutes(
    account: string,
    range: { since: number; until: number; period: Period; limit: number },
  ): Promise<{ begin: number; minutes: number }[]>;
  /** Writes the counts; this also happens automatically after a few seconds. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const FLUSH_MS = 10_000;
/** Maximum number of accounts counted in memory; above it, counts are written early. */
const MAX_COUNTED_ENTRIES = 5000;
/** Eighteen months. */
const RETENTION_HOURS = 550 * 24;

export function createViewedMinutes({
  db,
  clock,
  log,
}: {
  db: Db;
  clock: Pick<Clock, "now">;
  log: Log;
}): ViewedMinutes {
  const table = createViewedTable(db);
  const countedHours = new Map<string, ViewedHour>();
  let pendingWrite: Promise<void> = Promise.resolve();
  let lastSweptHour = 0;
  let timer: NodeJS.Timeout | undefined;

  function record(account: string, seconds: number): void {
    const hour = Math.floor(clock.now() / HOUR_MS);
    const key = `${account} ${hour}`;
    const countedHour = countedHours.get(key);
    if (countedHour !== undefined) countedHour.ms += Math.round(seconds * 1000);
    else countedHours.set(key, { account, hour, ms: Math.round(seconds * 1000) });
    if (countedHours.size > MAX_COUNTED_ENTRIES) void flush();
    timer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
  }

  async function write(): Promise<void> {
    const pendingHours = [...countedHours.values()];
    countedHours.clear();
    clearTimeout(timer);
    timer = undefined;
    try {
      if (pendingHours.length > 0) await table.add(pendingHours);
      const hour = Math.floor(clock.now() / HOUR_MS);
      if (hour !== lastSweptHour) await table.deleteBefore(hour - RETENTION_HOURS);
      lastSweptHour = hour;
    } catch (err) {
      log.warn({ err, accounts: pendingHours.length }, "stream: failed to store viewed minutes");
    }
  }
  const flush = (): Promise<void> => (pendingWrite = pendingWrite.then(write));

  return {
    record,
    flush,
    watch: (route, duration, onSegment) =>
      route.path !== "segments/{rendition}/{file}"
        ? route
        : {
            ...route,
            async handle(viewing) {
              await route.handle(viewing);
              if (viewing.request.method !== "GET" || viewing.response.statusCode !== 200) return;
              const seconds = await duration(viewing);
              if (seconds === undefined || seconds <= 0) return;
              record(viewing.video.account, seconds);
              onSegment?.(viewing, seconds);
            },
          },
    async minutes(account, { since, until, period, limit }) {
      const points: { begin: number; minutes: number }[] = [];
      for (
        let begin = startOfPeriod(since, period);
        begin <= until && points.length < limit;
        begin = nextPeriodStart(begin, period)
      )
        points.push({ begin, minutes: 0 });
      if (points.length === 0) return [];
      const byBegin = new Map(points.map((point) => [point.begin, point]));
      const end = nextPeriodStart(points.at(-1)!.begin, period) / HOUR_MS - 1;
      for (const { hour, ms } of await table.between(
        account,
        points[0]!.begin / HOUR_MS,
        Math.min(end, Math.floor(until / HOUR_MS)),
      )) {
        const point = byBegin.get(startOfPeriod(hour * HOUR_MS, period));
        if (point !== undefined) point.minutes += ms / 60_000;
      }
      return points;
    },
    async close() {
      clearTimeout(timer);
      await flush();
    },
  };
}
