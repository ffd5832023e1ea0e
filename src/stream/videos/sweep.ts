import type { Clock, Log } from "../../kernel/index.ts";
import type { Db, Jobs } from "../../store/index.ts";
import type { Deletions } from "./deletions.ts";
import type { SweepTable, UnfinishedVideo } from "./sweep-table.ts";
import type { ErrorReason, Video } from "./video.ts";
import { touchVideo } from "./videos-table.ts";

interface SweepDeps {
  db: Db;
  table: SweepTable;
  jobs: Jobs;
  clock: Clock;
  log: Log;
  deletions: Deletions;
  enqueue(uid: string): Promise<void>;
  notifySettled(video: Video): Promise<void>;
  fail(uid: string, code: ErrorReason, text?: string): Promise<void>;
  /** Deletes the video if it still satisfies `canRemove`. */
  remove(uid: string, canRemove: (video: Video) => boolean): Promise<boolean>;
}

interface Sweep {
  recover(): Promise<void>;
  sweep(): Promise<void>;
  beforeExpiry(isArriving: (uid: string) => Promise<boolean>): void;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Videos written more recently are not changed. */
const MIN_IDLE_MS = 10_000;
/** The row of a video being encoded is written every few seconds. */
const STALLED_MS = 5 * MINUTE_MS;
/** Maximum time to fetch from a URL, including retries. */
const MAX_FETCH_MS = 48 * HOUR_MS;
/** Maximum age of a clip whose source was never stored. */
const SOURCELESS_MS = HOUR_MS;
/** An upload closes a day after its expiry, however slowly data arrives. */
const ARRIVING_MS = 24 * HOUR_MS;

/** Creates background maintenance of videos. Every task is idempotent, and may run concurrently on several machines. */
export function createVideoSweep({
  db,
  table,
  jobs,
  clock,
  log,
  deletions,
  enqueue,
  notifySettled,
  fail,
  remove,
}: SweepDeps): Sweep {
  const arrivalChecks: ((uid: string) => Promise<boolean>)[] = [];

  async function isArriving(uid: string): Promise<boolean> {
    for (const check of arrivalChecks) if (await check(uid)) return true;
    return false;
  }

  /** One failure does not affect the others. */
  async function forEachRow<Row extends { uid: string }>(
    rows: AsyncIterable<Row>,
    work: (row: Row) => Promise<void>,
  ): Promise<void> {
    for await (const row of rows)
      await work(row).catch((err: unknown) =>
        log.warn({ err, video: row.uid }, "stream: failed to check a video, will retry"),
      );
  }

  async function resume({
    uid,
    state,
    source_key: source,
    job_id: job,
    touched_at: touched,
    created_at: created,
  }: UnfinishedVideo): Promise<void> {
    const now = clock.now();
    if (state === "downloading") return now - created < MAX_FETCH_MS ? undefined : fail(uid, "ERR_FETCH_ORIGIN_ERROR");
    if (source === null) return now - created < SOURCELESS_MS ? undefined : fail(uid, "ERR_UNKNOWN");
    const status = job === null ? undefined : (await jobs.get(job))?.status;
    if (status === "waiting" || status === "running") return;
    // The video's first job may have ended while others encode the ladder, so it is resumed only after a long time
    // without writes.
    if (state === "inprogress" && now - touched < STALLED_MS) return;
    log.info({ video: uid, state }, "stream: processing of a video resumed");
    await enqueue(uid);
  }

  return {
    beforeExpiry: (check) => void arrivalChecks.push(check),
    async recover() {
      const before = clock.now() - MIN_IDLE_MS;
      await forEachRow(table.unfinished(before), resume);
      await forEachRow(table.untold(before), async (video) => {
        // Moves the video behind the others in case the notification fails.
        await touchVideo(db, video.uid, clock.now());
        await notifySettled(video);
      });
      await deletions.recover();
    },
    async sweep() {
      const now = clock.now();
      await forEachRow(table.due(now), async ({ uid }) => {
        if (await remove(uid, ({ scheduledDeletion }) => scheduledDeletion !== null && scheduledDeletion <= now))
          log.info({ video: uid }, "stream: video deleted on schedule");
      });
      await forEachRow(table.expired(now), async ({ uid, upload_expiry: expiry }) => {
        if (now - (expiry ?? 0) < ARRIVING_MS && (await isArriving(uid))) return;
        await remove(
          uid,
          ({ state, uploadExpiry }) => state === "pendingupload" && uploadExpiry !== null && uploadExpiry <= now,
        );
      });
    },
  };
}
