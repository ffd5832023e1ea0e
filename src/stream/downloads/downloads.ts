import type { Repetition } from "../../kernel/periodic.ts";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import { localSweeps, type Db, type Jobs, type JobWorker, type ObjectStore, type Sweeps } from "../../store/index.ts";
import type { DeliveryRoute } from "../delivery/index.ts";
import type { Segments } from "../encode/index.ts";
import { streamErrors } from "../errors.ts";
import type { SourceRung } from "../playback/index.ts";
import { notReadyError, type Video, type Videos } from "../videos/index.ts";
import { downloadRoutes } from "./delivery.ts";
import { createDownloadsTable, type DownloadRow } from "./downloads-table.ts";
import { DOWNLOAD_ATTEMPTS, createDownloadBuilder, downloadKey, type DownloadJob } from "./make.ts";
import type { Download, DownloadType } from "./types.ts";

export interface DownloadsDeps {
  db: Db;
  objects: ObjectStore;
  jobs: Jobs;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  videos: Pick<Videos, "get" | "find">;
  segments: Pick<Segments, "get">;
  source?: Pick<SourceRung, "of" | "segment"> | undefined;
  /**
   * Merges a recording into one file, then triggers a call to `resume`. If absent, recordings without a file have no
   * downloads.
   */
  assemble?(uid: string): Promise<void>;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Delay before a retry in milliseconds. Default: the job backoff. */
  backoff?: (attempt: number) => number;
}

export interface Downloads {
  /**
   * Starts a download unless it is pending or ready; for a recording it waits for the merged file. Returns all
   * downloads of the video. Throws videoNotFound, notReady, videoFailed, badParameter.
   */
  create(account: string, uid: string, type: DownloadType): Promise<Download[]>;
  list(account: string, uid: string): Promise<Download[]>;
  /** Throws videoNotFound; deleting a missing download succeeds. */
  delete(account: string, uid: string, type: DownloadType): Promise<void>;
  /** Called once a recording has been merged into one file or cannot be merged: its downloads then start or fail. */
  resume(uid: string): Promise<void>;
  /** Deletes the rows of a deleted video. */
  onVideoDeleted(uid: string): Promise<void>;
  /** Enqueues downloads whose job was lost in a crash. */
  recover(): Promise<void>;
  readonly delivery: DeliveryRoute[];
  /** Runs the job `stream.download`, and `recover` every minute, until closed. Called in processes that encode. */
  start(): void;
  close(): Promise<void>;
}

const DOWNLOAD_JOB = "stream.download";
const MAX_CONCURRENT_JOBS = 2;
const LEASE_MS = 30_000;
const RECOVER_MS = 60_000;
/** A row without a heartbeat for this long is checked. */
const RECOVER_AFTER_MS = 60_000;
const RECOVERY_BATCH = 200;

export function createDownloads(deps: DownloadsDeps): Downloads {
  const { db, objects, jobs, sweeps = localSweeps, videos, assemble, clock, ids, log, backoff } = deps;
  const table = createDownloadsTable(db);
  let worker: JobWorker | undefined;
  let recovery: Repetition | undefined;

  async function enqueue({ video_uid: uid, type, build }: DownloadRow): Promise<void> {
    const job = await jobs.enqueue(DOWNLOAD_JOB, { uid, type, build } satisfies DownloadJob, {
      key: build,
      attempts: DOWNLOAD_ATTEMPTS,
    });
    await table.change({ video_uid: uid, type, build }, { job });
  }

  const listOf = async ({ uid }: Video): Promise<Download[]> =>
    (await table.of(uid)).map(({ type, status, percent }) => ({ type, status, percentComplete: percent }));

  const isWaitingForFile = ({ state, liveInput, model }: Video) =>
    assemble !== undefined && state === "ready" && liveInput !== undefined && model === null;
  const lacksTrack = (type: DownloadType, { model }: Video) =>
    type === "audio" && model !== null && model.audio === undefined;

  async function begin(row: DownloadRow, video: Video): Promise<void> {
    if (isWaitingForFile(video)) await assemble!(video.uid);
    else await enqueue(row);
  }

  return {
    async create(account, uid, type) {
      const video = await videos.get(account, uid);
      if (!video.readyToStream || (video.model === null && !isWaitingForFile(video))) throw notReadyError(video);
      if (lacksTrack(type, video)) throw streamErrors.badParameter({ reason: "the video has no audio" });
      const now = clock.now();
      const row: DownloadRow = {
        video_uid: uid,
        type,
        account_id: account,
        build: ids.hex(),
        status: "inprogress",
        percent: 0,
        job: "",
        created_at: now,
        modified_at: now,
      };
      await table.insert(row);
      const storedRow = await table.find(uid, type);
      if (storedRow?.status === "inprogress" && storedRow.job === "") await begin(storedRow, video);
      return listOf(video);
    },
    list: async (account, uid) => listOf(await videos.get(account, uid)),
    async delete(account, uid, type) {
      await videos.get(account, uid);
      await remove(uid, type);
    },
    async resume(uid) {
      const video = await videos.find(uid);
      for (const row of await table.of(uid)) {
        if (row.status !== "inprogress" || row.job !== "") continue;
        if (video?.model == null || lacksTrack(row.type, video))
          await table.change(row, { status: "error", modified_at: clock.now() });
        else await enqueue(row);
      }
    },
    onVideoDeleted: (uid) => remove(uid),
    recover,
    delivery: downloadRoutes({ table, objects }),
    start() {
      worker ??= jobs.work(
        DOWNLOAD_JOB,
        { concurrency: MAX_CONCURRENT_JOBS, leaseMs: LEASE_MS, ...(backoff && { backoff }) },
        createDownloadBuilder({ ...deps, table, log }),
      );
      recovery ??= sweeps.every(RECOVER_MS, recover, { name: "stream: recovery of downloads", log });
      void recovery.run();
    },
    async close() {
      await recovery?.stop();
      await worker?.stop();
    },
  };

  async function recover(): Promise<void> {
    for (const row of await table.unfinished(clock.now() - RECOVER_AFTER_MS, RECOVERY_BATCH)) {
      const job = row.job === "" ? undefined : await jobs.get(row.job);
      if (job?.status === "failed") await table.change(row, { status: "error", modified_at: clock.now() });
      else if (job === undefined || job.status === "done") {
        const video = await videos.find(row.video_uid);
        if (video !== undefined) await begin(row, video);
      }
    }
  }

  async function remove(uid: string, type?: DownloadType): Promise<void> {
    const rows = await table.delete(uid, type);
    await objects.delete(rows.map((row) => downloadKey(uid, row.type, row.build)));
  }
}
