import { type Clock, type Ids, type Log, UserError } from "../../kernel/index.ts";
import type { Repetition } from "../../kernel/periodic.ts";
import type { Settings } from "../../kernel/settings.ts";
import { localSweeps, type Db, type Events, type Jobs, type ObjectStore, type Sweeps } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { createDeletions } from "./deletions.ts";
import { createVideoCache } from "./known.ts";
import { countVideos, listVideos } from "./list-table.ts";
import { newVideo } from "./new-video.ts";
import type { LiveVideos, VideoCatalog, Videos } from "./port.ts";
import { createProgressWriter } from "./progress.ts";
import { validateChange } from "./rules.ts";
import {
  IN_PROCESSING,
  withReopenedUpload,
  withCompletion,
  withFailure,
  withFile,
  withModel,
  withReadyToStream,
  withProgress,
  withRecording,
  withUpload,
} from "./states.ts";
import { createVideoSweep } from "./sweep.ts";
import { createSweepTable } from "./sweep-table.ts";
import { updateUsage, readUsage } from "./usage-table.ts";
import type { Video } from "./video.ts";
import {
  countUnfinished,
  findDeletionTime,
  insertVideo,
  moveToDeletions,
  recordJob,
  markNotified,
  updateVideo,
  videoByUid,
  type VideosExecutor,
  type VideoTables,
} from "./videos-table.ts";

export interface VideosDeps {
  db: Db;
  objects: ObjectStore;
  jobs: Jobs;
  events: Events;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  settings: Pick<Settings["stream"], "max_duration_seconds" | "storage_minutes" | "max_queued" | "min_deletion_days">;
  /** Maximum number of pending uploads per account. Default 10,000. */
  maxPending?: number;
}

export interface VideosModule extends Videos, VideoCatalog {
  readonly live: LiveVideos;
  /**
   * Calls the listener when processing has ended, in `ready` or `error`: at least once, even after a crash, until the
   * listener resolves.
   */
  onSettled(listener: (video: Video) => Promise<void>): void;
  /**
   * Calls the listener at least once for every deleted video, before its objects are removed; the listener deletes rows
   * of other tables. Runs in the process that runs `stream.delete`.
   */
  onDeleted(listener: (uid: string) => Promise<void>): void;
  /** Calls `isArriving` before an expired `pendingupload` is deleted; true keeps it. */
  beforeExpiry(isArriving: (uid: string) => Promise<boolean>): void;
  /**
   * Resumes work interrupted by a crash: abandoned processing, missed notifications, incomplete deletions. Call it at
   * startup, and periodically.
   */
  recover(): Promise<void>;
  /** Deletes videos due for deletion, and uploads that never arrived. Call it periodically. */
  sweep(): Promise<void>;
  /**
   * Runs the job `stream.delete`, and `recover` and `sweep` every 30 seconds, until closed. Register all listeners
   * first.
   */
  start(): void;
  close(): Promise<void>;
}

export const PROCESS_JOB = "stream.process";
const SWEEP_MS = 30_000;
/** After this time, one of many queued videos may have been processed. */
const RETRY_SECONDS = 10;

export function createVideos(deps: VideosDeps): VideosModule {
  const { db, jobs, events, sweeps = localSweeps, clock, ids, log, settings, maxPending = 10_000 } = deps;
  const tables = db.tables<VideoTables>();
  const cache = createVideoCache({ read: videoByUid(tables), events, clock });
  const rules = { maxDurationSeconds: settings.max_duration_seconds, minDeletionDays: settings.min_deletion_days };
  const deletions = createDeletions({ ...deps, tables });
  const progress = createProgressWriter({
    clock,
    log,
    write: (uid, pct) => transition(uid, (video) => withProgress(video, pct)).then(() => undefined),
  });
  const videoSweep = createVideoSweep({
    ...deps,
    table: createSweepTable(tables),
    deletions,
    enqueue,
    notifySettled,
    fail,
    remove,
  });
  const settledListeners: ((video: Video) => Promise<void>)[] = [];
  let repetition: Repetition | undefined;

  /** Changes one video; undefined if it does not exist, or `alter` leaves it unchanged. */
  async function transition(
    uid: string,
    alter: (video: Video, tx: VideosExecutor) => Video | undefined | Promise<Video | undefined>,
  ): Promise<Video | undefined> {
    const after = await db.transaction<VideoTables, Video | undefined>(async (tx) => {
      const before = await videoByUid(tx)(uid);
      const next = before && (await alter(before, tx));
      if (before === undefined || next === undefined || next === before) return next;
      const isReopened = before.state === "error" && next.state === "pendingupload";
      const isSettled = next.state !== before.state && (next.state === "ready" || next.state === "error");
      await updateVideo(tx, next, {
        touched_at: clock.now(),
        ...(isSettled && { told: 0 as const }),
        ...(isReopened && { told: 1 as const }),
      });
      await updateUsage(tx, before, next);
      return next;
    });
    if (after !== undefined) cache.invalidate(uid);
    return after;
  }

  async function checkQuota(tx: VideosExecutor, account: string, requestedSeconds: number): Promise<void> {
    const limit = settings.storage_minutes;
    if (limit === 0) return;
    const { usedSeconds, reservedSeconds } = await readUsage(tx, account);
    const usedMinutes = (usedSeconds + reservedSeconds) / 60;
    const requestedMinutes = requestedSeconds / 60;
    if (usedMinutes + requestedMinutes <= limit && (requestedMinutes > 0 || usedMinutes < limit)) return;
    throw streamErrors.quotaExceeded({
      used: roundMinutes(usedMinutes),
      limit,
      requested: roundMinutes(requestedMinutes),
    });
  }

  /**
   * A video without a duration limit has reserved nothing: one such video may exceed the account's minutes, and the
   * next one is rejected.
   */
  async function withinQuota(tx: VideosExecutor, before: Video, next: Video | undefined): Promise<Video | undefined> {
    if (next?.state !== "inprogress" || before.state !== "queued" || before.maxDurationSeconds !== null) return next;
    try {
      await checkQuota(tx, before.account, 0);
      return next;
    } catch (err) {
      if (err instanceof UserError && err.kind === "quotaExceeded")
        return withFailure(next, "ERR_DURATION_EXCEED_CONSTRAINT", err.message, clock.now());
      throw err;
    }
  }

  /** The row is marked for processing before its job exists: if the process crashes in between, `recover` finds it. */
  async function enqueue(uid: string): Promise<void> {
    const job = await jobs.enqueue(PROCESS_JOB, { uid }, { key: uid });
    await recordJob(db, uid, job, clock.now());
  }

  async function notifySettled(video: Video): Promise<void> {
    for (const listener of settledListeners) await listener(video);
    await markNotified(db, video.uid);
  }

  async function handleSettled(video: Video | undefined): Promise<void> {
    if (video === undefined) return;
    progress.forget(video.uid);
    await notifySettled(video).catch((err: unknown) =>
      log.warn({ err, video: video.uid }, "stream: failed to notify webhooks about a video, will retry"),
    );
  }

  async function fail(uid: string, code: Parameters<Videos["failed"]>[1], text?: string): Promise<void> {
    await handleSettled(await transition(uid, (video) => withFailure(video, code, text, clock.now())));
  }

  async function remove(uid: string, canRemove: (video: Video) => boolean): Promise<boolean> {
    const isDeleted = await db.transaction<VideoTables, boolean>(async (tx) => {
      const video = await videoByUid(tx)(uid);
      if (video === undefined || !canRemove(video)) return false;
      await moveToDeletions(tx, video, clock.now());
      await updateUsage(tx, video, undefined);
      return true;
    });
    if (!isDeleted) return false;
    progress.forget(uid);
    cache.invalidate(uid);
    await deletions.enqueue(uid);
    return true;
  }

  async function markPlayable(uid: string): Promise<void> {
    await transition(uid, (video) => withReadyToStream(video, clock.now()));
  }

  const live: LiveVideos = {
    find: cache.find,
    playable: markPlayable,
    async hasQuotaFor(account, seconds) {
      if (settings.storage_minutes === 0) return true;
      const { usedSeconds, reservedSeconds } = await readUsage(tables, account);
      return usedSeconds + reservedSeconds + seconds <= settings.storage_minutes * 60;
    },
    async begin(account, uid, draft) {
      const now = clock.now();
      const video = newVideo({ uid, account, now, state: "live-inprogress" }, validateChange(draft, now, rules));
      const storedVideo = await db.transaction<VideoTables, Video>(async (tx) => {
        const before = await videoByUid(tx)(uid);
        if (before !== undefined) return before;
        await checkQuota(tx, account, 0);
        await insertVideo(tx, video, now);
        await updateUsage(tx, undefined, video);
        return video;
      });
      cache.invalidate(uid);
      return storedVideo;
    },
    async setAccessRules(account, liveInput, rules) {
      for (const { uid } of await listVideos(db, account, { liveInput, states: ["live-inprogress"] })) {
        await transition(uid, (video) =>
          video.state === "live-inprogress" ? { ...video, ...rules, modified: clock.now() } : undefined,
        );
      }
    },
    async recorded(uid, recording) {
      const video = await transition(uid, (before) => withRecording(before, recording, clock.now()));
      await handleSettled(video);
      return video;
    },
    assembled: (uid, source) => transition(uid, (before) => withFile(before, source, clock.now())),
    discard: async (uid) => void (await remove(uid, ({ state }) => state === "live-inprogress")),
  };

  return {
    find: cache.find,
    live,
    async create(account, draft, state = "pendingupload", chosenUid) {
      const now = clock.now();
      const video = newVideo({ uid: chosenUid ?? ids.hex(), account, now, state }, validateChange(draft, now, rules));
      await db.transaction<VideoTables, void>(async (tx) => {
        if ((await countUnfinished(tx, account, IN_PROCESSING, settings.max_queued)) >= settings.max_queued)
          throw streamErrors.tooManyQueued({ limit: settings.max_queued, retryAfter: RETRY_SECONDS });
        if (state === "pendingupload" && (await countUnfinished(tx, account, [state], maxPending)) >= maxPending)
          throw streamErrors.tooManyPending({ limit: maxPending });
        await checkQuota(tx, account, video.maxDurationSeconds ?? 0);
        if (
          chosenUid !== undefined &&
          ((await videoByUid(tx)(chosenUid)) !== undefined || (await findDeletionTime(tx, chosenUid)) !== undefined)
        )
          throw streamErrors.idTaken({ uid: chosenUid });
        await insertVideo(tx, video, now);
        await updateUsage(tx, undefined, video);
      });
      cache.invalidate(video.uid);
      return video;
    },
    async get(account, uid) {
      const video = await cache.find(uid);
      if (video?.account !== account) throw streamErrors.videoNotFound({ uid });
      return video;
    },
    list: (account, filter = {}) => listVideos(db, account, filter),
    count: (account, filter = {}) => countVideos(db, account, filter),
    storageUsage: (account, creator) => readUsage(tables, account, creator),
    async edit(account, uid, given) {
      const after = await db.transaction<VideoTables, Video>(async (tx) => {
        const before = await videoByUid(tx)(uid);
        if (before?.account !== account) throw streamErrors.videoNotFound({ uid });
        const { publicDetails, ...change } = validateChange(given, before.created, rules);
        const next: Video = {
          ...before,
          ...change,
          publicDetails: { ...before.publicDetails, ...publicDetails },
          modified: clock.now(),
        };
        const addedSeconds = (next.maxDurationSeconds ?? 0) - (before.maxDurationSeconds ?? 0);
        if (addedSeconds > 0 && before.duration < 0 && before.state !== "error")
          await checkQuota(tx, account, addedSeconds);
        await updateVideo(tx, next, { touched_at: clock.now() });
        await updateUsage(tx, before, next);
        return next;
      });
      cache.invalidate(uid);
      return after;
    },
    async delete(account, uid) {
      if (!(await remove(uid, (video) => video.account === account))) throw streamErrors.videoNotFound({ uid });
    },
    async uploaded(uid, source) {
      const video = await transition(uid, (before) => {
        const next = withUpload(before, source, clock.now());
        if (next === undefined) throw streamErrors.alreadyUploaded({ uid });
        return next;
      });
      if (video === undefined) throw streamErrors.videoNotFound({ uid });
      await enqueue(uid);
      return video;
    },
    reopened: (uid) =>
      transition(uid, async (before, tx) => {
        const next = withReopenedUpload(before, clock.now());
        if (next !== undefined && next !== before) await checkQuota(tx, before.account, before.maxDurationSeconds ?? 0);
        return next;
      }),
    async modelled(uid, model) {
      const video = await transition(uid, (before, tx) =>
        withinQuota(tx, before, withModel(before, model, clock.now())),
      );
      if (video?.state !== "error") return video;
      await handleSettled(video);
      return undefined;
    },
    playable: markPlayable,
    progress: progress.report,
    finished: async (uid) => handleSettled(await transition(uid, (video) => withCompletion(video, clock.now()))),
    failed: fail,
    onSettled: (listener) => void settledListeners.push(listener),
    onDeleted: deletions.onDeleted,
    beforeExpiry: videoSweep.beforeExpiry,
    recover: videoSweep.recover,
    sweep: videoSweep.sweep,
    start() {
      deletions.start();
      repetition ??= sweeps.every(SWEEP_MS, () => videoSweep.recover().then(videoSweep.sweep), {
        name: "stream: sweep of videos",
        log,
      });
      void repetition.run();
    },
    async close() {
      await repetition?.stop();
      await progress.close();
      await deletions.close();
      cache.close();
    },
  };
}

const roundMinutes = (minutes: number) => Math.round(minutes * 100) / 100;
