import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { formatVtt, readCaptions } from "../../protocol/webvtt/index.ts";
import { withLeasedFiles, type JobWorker } from "../../store/index.ts";
import { MediaRunError } from "../media/index.ts";
import type { MediaModel } from "../model.ts";
import { createScratch } from "../scratch.ts";
import type { Video } from "../videos/index.ts";
import type { CaptionsDeps } from "./deps.ts";

interface EmbeddedDeps extends CaptionsDeps {
  /** Stores the captions, unless captions in this language exist. */
  store(video: Video, details: { language: string; title?: string }, vtt: string): Promise<void>;
}

interface Embedded {
  importEmbedded(video: Pick<Video, "uid" | "model">): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

const JOB_KIND = "stream.embedded-captions";
const MAX_ATTEMPTS = 5;
const LEASE_MS = 30_000;
/** Slowest disk read rate that the timeout allows for, in bytes per millisecond. */
const OCTETS_PER_MS = 10_000;
const MAX_FILE_BYTES = 64 << 20;

/**
 * Extracts text subtitles of uploaded files (mkv, mp4) as captions. Runs as a job, because it reads the whole file.
 */
export function createEmbeddedCaptions({ jobs, objects, tools, videos, folder, log, store }: EmbeddedDeps): Embedded {
  const scratch = createScratch(folder);
  let worker: JobWorker | undefined;

  async function extract(video: Video, signal: AbortSignal): Promise<void> {
    const { model } = video;
    if (model?.subtitles === undefined) return;
    const { subtitles, source } = model;
    await withLeasedFiles(objects, [source.key], async ([path]) => {
      if (path !== undefined) await extractFrom(path, video, { ...model, subtitles }, signal);
    });
  }

  async function extractFrom(
    path: string,
    video: Video,
    model: Required<Pick<MediaModel, "subtitles" | "source" | "duration">>,
    signal: AbortSignal,
  ): Promise<void> {
    const { start, format, size } = model.source;
    const { path: scratchPath, remove } = await scratch.create("subtitles");
    try {
      const files = model.subtitles.map((text) => ({ text, file: join(scratchPath, `${text.stream}.vtt`) }));
      await tools.ffmpeg({
        args: [
          ...(start > 0 ? ["-ss", start.toFixed(6)] : []),
          "-t",
          model.duration.toFixed(6),
          "-f",
          format,
          "-i",
          path,
          ...files.flatMap(({ text, file }) => [
            "-map",
            `0:${text.stream}`,
            "-c:s",
            "webvtt",
            "-map_metadata",
            "-1",
            "-f",
            "webvtt",
            file,
          ]),
        ],
        reads: [path],
        writes: scratchPath,
        signal,
        wallMs: 120_000 + size / OCTETS_PER_MS,
        fileBytes: MAX_FILE_BYTES,
        urgency: "soon",
      });
      for (const { text, file } of files) {
        const parsedCaptions = readCaptions(await readFile(file));
        if (parsedCaptions.ok) await store(video, text, formatVtt(parsedCaptions.captions));
        else
          log.info(
            { video: video.uid, stream: text.stream, reason: parsedCaptions.why },
            "stream: unreadable embedded subtitles skipped",
          );
      }
    } finally {
      await remove();
    }
  }

  async function run(uid: string, isLast: boolean, signal: AbortSignal): Promise<void> {
    const video = await videos.find(uid);
    if (video === undefined) return;
    try {
      await extract(video, signal);
    } catch (err) {
      // The file is faulty: the video plays without these captions.
      if (signal.aborted || !(isLast || (err instanceof MediaRunError && err.reason === "failed"))) throw err;
      log.warn({ err, video: uid }, `stream: failed to read embedded subtitles: ${messageOf(err)}`);
    }
  }

  return {
    async importEmbedded({ uid, model }) {
      if (model?.subtitles !== undefined) await jobs.enqueue(JOB_KIND, { uid }, { key: uid, attempts: MAX_ATTEMPTS });
    },
    start() {
      worker ??= jobs.work(JOB_KIND, { concurrency: 1, leaseMs: LEASE_MS }, ({ payload, attempt }, { signal }) =>
        run((payload as { uid: string }).uid, attempt >= MAX_ATTEMPTS, signal),
      );
    },
    close: async () => worker?.stop(),
  };
}
