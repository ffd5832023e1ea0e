import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Ids, messageOf, randomIds, type Log } from "../../../kernel/index.ts";
import { Mp4Error } from "../../../protocol/mp4/index.ts";
import type { Job, JobContext, Jobs, JobWorker, ObjectStore } from "../../../store/index.ts";
import type { MediaTools } from "../../media/index.ts";
import { type Probe, ProbeRejected } from "../../probe/index.ts";
import { createScratch } from "../../scratch.ts";
import type { LiveVideos } from "../../videos/index.ts";
import type { LiveTimeline } from "../timeline.ts";
import { combineFiles, type CombinedFile } from "./combine.ts";
import { moviePartsOf } from "./movie-parts.ts";
import { decoderHeaders, joinMovie, type MoviePart, type JoinMovieOptions } from "./movie.ts";
import type { Recordings } from "./port.ts";

interface AssemblyDeps {
  jobs: Jobs;
  objects: Pick<ObjectStore, "put" | "delete">;
  videos: Pick<LiveVideos, "find" | "assembled">;
  recordings: Pick<Recordings, "timeline" | "stored">;
  probe: Probe;
  tools: Pick<MediaTools, "ffmpeg">;
  /** For temporary files as large as recordings, needed for runs with different settings. */
  folder: string;
  /** Default: random. */
  ids?: Pick<Ids, "token">;
  log: Log;
  /** Delay before a retry in milliseconds. Default: the job backoff. */
  backoff?: (attempt: number) => number;
}

/** Merges recordings into files for all operations on video files; playback continues to use their segments. */
export interface Assembly {
  /** Stores the job, which survives a crash of this process. Calling it again does nothing. */
  enqueue(video: string): Promise<void>;
  /**
   * Calls the listener when a recording has been merged into one file or cannot be merged. If the listener fails, the
   * job is retried.
   */
  onDone(listener: (video: string) => Promise<void>): void;
  /** Runs the job `stream.live.assemble` until closed. Started in processes that encode. */
  start(): void;
  close(): Promise<void>;
}

const ASSEMBLE_JOB = "stream.live.assemble";
const LEASE_MS = 30_000;

export function createAssembly({
  jobs,
  objects,
  videos,
  recordings,
  probe,
  tools,
  folder,
  ids = randomIds,
  log,
  backoff,
}: AssemblyDeps): Assembly {
  let worker: JobWorker | undefined;
  const listeners: ((video: string) => Promise<void>)[] = [];

  async function assemble(uid: string, signal: AbortSignal): Promise<void> {
    const video = await videos.find(uid);
    if (video?.state !== "ready" || video.sourceKey !== null) return;
    const timeline = await recordings.timeline(uid);
    if (timeline?.ended !== true) return;
    // Another process may be merging the same recording.
    const key = `stream/${uid}/source-${ids.token(8)}`;
    const size = await writeSource(uid, key, timeline, signal).catch((err: unknown) => removeUnused(key, err));
    const model = await probe
      .probe({ uid, sourceKey: key, watermark: null }, { signal })
      .catch((err: unknown) => removeUnused(key, err));
    // Not deleted on an error: announcing the video may fail after its row already refers to this object.
    if ((await videos.assembled(uid, { key, size, model })) === undefined) await objects.delete([key]);
    else log.info({ video: uid, size, runs: timeline.runs.length }, "live: recording merged into one file");
  }

  /** The merge will be retried under another key. */
  async function removeUnused(key: string, reason: unknown): Promise<never> {
    await objects
      .delete([key])
      .catch((err: unknown) => log.warn({ err, key }, "live: failed to delete the file of an interrupted merge"));
    throw reason;
  }

  async function writeSource(uid: string, key: string, timeline: LiveTimeline, signal: AbortSignal): Promise<number> {
    const openStored: JoinMovieOptions["stored"] = (rendition, segmentOrRun) =>
      recordings.stored(uid, rendition, segmentOrRun);
    const groups = await groupCompatible(moviePartsOf(timeline), openStored);
    if (groups.length === 0) throw new Mp4Error("no recording is stored");
    if (groups.length === 1)
      return (await objects.put(key, (await joinMovie({ parts: groups[0]!, stored: openStored, signal })).body())).size;
    const { path: workPath, remove } = await createScratch(folder).create("recording");
    try {
      const files: CombinedFile[] = [];
      for (const [i, parts] of groups.entries()) {
        const movie = await joinMovie({ parts, stored: openStored, signal });
        const path = join(workPath, `part-${i}.mp4`);
        await pipeline(Readable.from(movie.body()), createWriteStream(path), { signal });
        const hasTrack = (kind: string) => parts.some(({ tracks }) => tracks.some((track) => track.kind === kind));
        files.push({
          path,
          video: hasTrack("video"),
          audio: hasTrack("audio"),
          duration: movie.duration,
          fps: movie.fps,
        });
      }
      const frameSize = pictureOf(timeline);
      const combinedFile = await combineFiles(files, {
        tools,
        folder: workPath,
        signal,
        ...(frameSize && { frameSize }),
      });
      return (await objects.put(key, createReadStream(combinedFile, { highWaterMark: 1 << 20 }))).size;
    } finally {
      await remove();
    }
  }

  /** Permanent failures are not retried. */
  async function run({ payload }: Job, { signal }: JobContext): Promise<void> {
    const { uid } = payload as { uid: string };
    try {
      await assemble(uid, signal);
    } catch (err) {
      if (!(err instanceof Mp4Error) && !(err instanceof ProbeRejected)) throw err;
      log.error(
        { err, video: uid },
        `live: failed to merge a recording; it can be played but not downloaded: ${messageOf(err)}`,
      );
    }
    for (const listener of listeners) await listener(uid);
  }

  return {
    enqueue: async (video) => void (await jobs.enqueue(ASSEMBLE_JOB, { uid: video }, { key: video, priority: -1 })),
    onDone: (listener) => void listeners.push(listener),
    start() {
      worker ??= jobs.work(
        ASSEMBLE_JOB,
        { concurrency: 1, leaseMs: LEASE_MS, onePerKey: true, ...(backoff && { backoff }) },
        run,
      );
    },
    close: async () => worker?.stop({ graceMs: 1000 }),
  };
}

/** Groups consecutive parts that fit into one file without transcoding. */
async function groupCompatible(
  parts: readonly MoviePart[],
  openStored: JoinMovieOptions["stored"],
): Promise<MoviePart[][]> {
  const groups: { headers: string; parts: MoviePart[] }[] = [];
  for (const part of parts) {
    const headers = await decoderHeaders(part, openStored);
    const last = groups.at(-1);
    if (last?.headers === headers) last.parts.push(part);
    else groups.push({ headers, parts: [part] });
  }
  return groups.map((group) => group.parts);
}

/** Returns the largest frame size in all runs; dimensions are even. */
function pictureOf({ runs }: LiveTimeline): { width: number; height: number } | undefined {
  const videoRenditions = runs.flatMap(({ renditions }) =>
    renditions.filter(({ kind }) => kind === "video").slice(0, 1),
  );
  if (videoRenditions.length === 0) return undefined;
  const { width = 0, height = 0 } = videoRenditions.reduce((largestSoFar, candidate) =>
    (candidate.width ?? 0) * (candidate.height ?? 0) > (largestSoFar.width ?? 0) * (largestSoFar.height ?? 0)
      ? candidate
      : largestSoFar,
  );
  return { width: Math.max(2, width & ~1), height: Math.max(2, height & ~1) };
}
