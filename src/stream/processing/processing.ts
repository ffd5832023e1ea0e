import { availableParallelism } from "node:os";
import type { Log } from "../../kernel/index.ts";
import type { Db, Job, JobContext, Jobs, JobWorker, ObjectStore } from "../../store/index.ts";
import { type SegmentsModule, VideoDeleted } from "../encode/index.ts";
import { firstRung, MAIN_AUDIO, type MediaModel } from "../model.ts";
import type { SourceRung } from "../playback/index.ts";
import { mezzaninePrefix, type Probe } from "../probe/index.ts";
import { exceedsLimit, PROCESS_JOB, FINAL_STATES, type Video, type Videos } from "../videos/index.ts";
import { createCheckpoints } from "./chunks-table.ts";
import { allWork, chunkCount, chunkPriority, chunkSegments, chunkWork } from "./chunks.ts";
import { classifyFailure } from "./failure.ts";

export interface ProcessingDeps {
  videos: Pick<Videos, "find" | "modelled" | "playable" | "progress" | "finished" | "failed">;
  probe: Probe;
  segments: Pick<SegmentsModule, "get" | "encodeMissing" | "encodeInits">;
  db: Db;
  jobs: Jobs;
  objects: Pick<ObjectStore, "list" | "delete">;
  log: Log;
  /** Renditions that can be played without encoding. If absent, there are none. */
  source?: SourceRung;
  /**
   * Adds the uploaded file's audio tracks and subtitles before the video can be played. Idempotent. If absent, they are
   * ignored.
   */
  importEmbeddedTracks?: (video: Video) => Promise<void>;
  /** Maximum number of videos that are probed concurrently. Default: one per processor, at least two. */
  maxConcurrentProbes?: number;
  /** Maximum number of chunks that are encoded concurrently. 0 (default): one per two processors. */
  encoders?: number;
  /** Time after which the work of a dead process is reassigned. Default 20 s. */
  leaseMs?: number;
}

interface Processing {
  /** Deletes the rows of a deleted video. */
  onVideoDeleted(uid: string): Promise<void>;
  /** Processes jobs until closed. */
  start(): void;
  close(): Promise<void>;
}

const isCopy = ({ source: { key, originalKey = key } }: MediaModel): boolean => key !== originalKey;

const CHUNK_JOB = "stream.chunk";

const LEASE_MS = 20_000;
/** Running jobs should finish, but a chunk would take half a minute, and it resumes where it stopped. */
const GRACE_MS = 1000;
const MINUTE_MS = 60_000;
const backoffMs = (attempt: number) => Math.min(MINUTE_MS, 1000 * 2 ** (attempt - 1));
/** Maximum attempts per job: a video may wait for days for a machine with an encoder. */
const JOB_ATTEMPTS = 5000;

const MAX_FAILURES = 1000;

/**
 * Processes an upload until its ladder is complete: every step is idempotent, runs on any machine, and resumes where it
 * stopped.
 */
export function createProcessing({
  videos,
  importEmbeddedTracks,
  probe,
  segments,
  db,
  jobs,
  objects,
  log,
  source,
  maxConcurrentProbes = Math.max(2, availableParallelism()),
  encoders = 0,
  leaseMs = LEASE_MS,
}: ProcessingDeps): Processing {
  const encoderSlots = encoders || Math.max(1, Math.floor(availableParallelism() / 2));
  const checkpoints = createCheckpoints(db);
  const workers: JobWorker[] = [];
  /** Number of failures per job, for the jobs that this process retries. */
  const failures = new Map<string, number>();

  /** Resolves with the video, if it needs processing. */
  async function findUnfinished(uid: string): Promise<Video | undefined> {
    const video = await videos.find(uid);
    return video === undefined || FINAL_STATES.has(video.state) || video.sourceKey === null ? undefined : video;
  }

  async function processUpload({ uid }: { uid: string }, signal: AbortSignal): Promise<void> {
    const unfinishedVideo = await findUnfinished(uid);
    if (unfinishedVideo === undefined) return;
    const model = unfinishedVideo.model ?? (await probe.probe(unfinishedVideo, { signal }));
    const probedVideo: Video = { ...unfinishedVideo, model };
    // The row and the first segments are written concurrently.
    const refusalController = new AbortController();
    // A file that is too long is not encoded: its one-time URL may receive another file.
    const playableStart = exceedsLimit(unfinishedVideo, model)
      ? Promise.resolve()
      : makePlayable(probedVideo, AbortSignal.any([signal, refusalController.signal]));
    playableStart.catch(() => {});
    const video = unfinishedVideo.model === null ? await videos.modelled(uid, model) : unfinishedVideo;
    if (video === undefined) {
      refusalController.abort();
      return removeRejectedCopy(uid, model);
    }
    await removeUnusedCopies(video);
    await importEmbeddedTracks?.(video);
    await playableStart;
    await videos.playable(uid);
    await enqueueChunks(uid, model);
    await segments.encodeInits(probedVideo, { signal });
  }

  /** Deletes indexed copies of interrupted attempts. The row does not refer to them. */
  async function removeUnusedCopies({ uid, model }: Video): Promise<void> {
    if (model === null || !isCopy(model)) return;
    const unusedKeys: string[] = [];
    for await (const { key } of objects.list(mezzaninePrefix(uid))) if (key !== model.source.key) unusedKeys.push(key);
    await objects.delete(unusedKeys);
  }

  /** Deletes an indexed copy if another process was faster and the row refers to its copy. */
  async function removeRejectedCopy(uid: string, model: MediaModel): Promise<void> {
    if (isCopy(model) && (await videos.find(uid))?.model?.source.key !== model.source.key)
      await objects.delete([model.source.key]);
  }

  /** Runs until a player can start: missing segments at the start are encoded before anything else. */
  async function makePlayable(video: Video, signal: AbortSignal): Promise<void> {
    const { ladder, audio } = video.model!;
    if ((await source?.of(video)) !== undefined) return;
    const first = firstRung(ladder)?.name;
    // Without prefetch: the first chunk comes next, unless a viewer requests segments.
    const options = { signal, lookahead: false };
    await Promise.all([
      first && segments.get(video, first, 0, options),
      audio && segments.get(video, MAIN_AUDIO, 0, options),
    ]);
  }

  async function enqueueChunks(uid: string, model: MediaModel): Promise<void> {
    const done = await checkpoints.done(uid);
    if (done.size >= chunkCount(model)) return finish(uid);
    for (let chunk = 0; chunk < chunkCount(model); chunk++) {
      if (!done.has(chunk))
        await jobs.enqueue(
          CHUNK_JOB,
          { uid, chunk },
          { key: `${uid}/${chunk}`, priority: chunkPriority(chunk), attempts: JOB_ATTEMPTS },
        );
    }
  }

  async function fillChunk({ uid, chunk }: { uid: string; chunk: number }, signal: AbortSignal): Promise<void> {
    const video = await findUnfinished(uid);
    if (video?.model == null) return;
    const { model } = video;
    const done = await checkpoints.done(uid);
    if (!done.has(chunk)) {
      const before = [...done].reduce((sum, otherChunk) => sum + chunkWork(model, otherChunk), 0);
      let storedSegments = 0;
      const reportProgress = () =>
        void videos
          .progress(uid, (100 * (before + storedSegments)) / allWork(model))
          .catch((err: unknown) => log.warn({ err, video: uid }, "stream: failed to store the progress of a video"));
      const missing = await segments.encodeMissing(video, chunkSegments(model, chunk), {
        signal,
        assumeMissing: await checkpoints.begin(uid, chunk),
        onStored: () => (storedSegments++, reportProgress()),
      });
      log.debug({ video: uid, chunk, missing }, "stream: chunk encoded");
      await checkpoints.mark(uid, chunk);
      storedSegments = chunkWork(model, chunk);
      reportProgress();
    }
    // Other processes may have finished their chunks in the meantime: the last process to finish sees all of them.
    if ((await checkpoints.done(uid)).size >= chunkCount(model)) await finish(uid);
  }

  async function finish(uid: string): Promise<void> {
    await videos.finished(uid);
    await checkpoints.clear(uid);
  }

  const handler =
    <Payload extends { uid: string }>(
      jobLabel: string,
      work: (payload: Payload, signal: AbortSignal) => Promise<void>,
    ) =>
    async (job: Job, { signal }: JobContext): Promise<void> => {
      const payload = job.payload as Payload;
      const { uid } = payload;
      try {
        await work(payload, signal);
        failures.delete(job.id);
      } catch (err) {
        // Processing is no longer needed, or another process is doing it, or it will be done after the restart.
        if (err instanceof VideoDeleted || (await videos.find(uid)) === undefined)
          return void (await checkpoints.clear(uid));
        if (signal.aborted) throw err;
        const count = (failures.get(job.id) ?? 0) + 1;
        const verdict = classifyFailure(err, count);
        failures.delete(job.id);
        if (verdict.kind === "again") {
          failures.set(job.id, count);
          if (failures.size > MAX_FAILURES) failures.delete(failures.keys().next().value!);
          log.warn({ err, video: uid, attempt: job.attempt }, `stream: failed to ${jobLabel}, will retry`);
          throw err;
        }
        log.warn(
          { err, video: uid, code: verdict.code },
          `stream: failed to ${jobLabel}, will not retry; video marked as failed`,
        );
        await videos.failed(uid, verdict.code, verdict.text);
      }
    };

  return {
    onVideoDeleted: (uid) => checkpoints.clear(uid),
    start() {
      workers.push(
        jobs.work(
          PROCESS_JOB,
          { concurrency: maxConcurrentProbes, leaseMs, backoff: backoffMs },
          handler("process a new video", processUpload),
        ),
        jobs.work(
          CHUNK_JOB,
          { concurrency: encoderSlots, leaseMs, backoff: backoffMs },
          handler("encode a chunk of a video", fillChunk),
        ),
      );
    },
    close: async () => void (await Promise.all(workers.map((worker) => worker.stop({ graceMs: GRACE_MS })))),
  };
}
