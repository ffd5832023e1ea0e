import { messageOf, UserError, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Job, JobContext, ObjectStore } from "../../store/index.ts";
import type { Segments } from "../encode/index.ts";
import { streamErrors } from "../errors.ts";
import type { SegmentBytes, SourceRung } from "../playback/index.ts";
import type { Videos } from "../videos/index.ts";
import type { DownloadRow, DownloadsTable } from "./downloads-table.ts";
import { muxFile } from "./mux.ts";
import { chooseRenditions, type RenditionSource } from "./rendition-source.ts";
import { DOWNLOAD_FILE_NAMES, type DownloadType } from "./types.ts";

interface MakeDeps {
  objects: ObjectStore;
  videos: Pick<Videos, "find">;
  segments: Pick<Segments, "get">;
  source?: Pick<SourceRung, "of" | "segment"> | undefined;
  table: DownloadsTable;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
}

export interface DownloadJob {
  uid: string;
  type: DownloadType;
  build: string;
}

/** Attempts of a job before the download fails. */
export const DOWNLOAD_ATTEMPTS = 5;
const BUSY_RETRY_MS = 1000;
/** Maximum attempts per segment while the encoder is busy. */
const MAX_BUSY_ATTEMPTS = 600;
const PROGRESS_INTERVAL_MS = 1000;
/** Progress once all segment headers have been read; the rest is copying. */
const HEADERS_READ_PERCENT = 50;

export const downloadKey = (uid: string, type: DownloadType, build: string): string =>
  `stream/${uid}/downloads/${build}-${DOWNLOAD_FILE_NAMES[type]}`;

/** Runs the job `stream.download`: builds the file and reports its progress. */
export function createDownloadBuilder(deps: MakeDeps) {
  const { objects, videos, table, clock, ids, log } = deps;

  async function removeIncomplete(key: string, { video_uid: uid, type }: DownloadRow): Promise<void> {
    try {
      const row = await table.find(uid, type);
      if (row === undefined || downloadKey(uid, type, row.build) !== key) await objects.delete([key]);
    } catch (err) {
      log.warn({ err, video: uid, key }, "stream: failed to delete an incomplete download");
    }
  }

  return async ({ payload, attempt }: Job, { signal }: JobContext): Promise<void> => {
    const { uid, type, build } = payload as DownloadJob;
    const row = await table.find(uid, type);
    const video = await videos.find(uid);
    if (row?.build !== build || row.status !== "inprogress" || video?.model == null) return;
    const reportProgress = createProgressReporter(table, row, clock);
    // The key is unique: another process may be building the same download, or an interrupted attempt may have stored
    // other bytes.
    const storedBuild = `${build}.${ids.hex()}`;
    const key = downloadKey(uid, type, storedBuild);
    try {
      const renditions = await chooseRenditions(video, video.model, type, deps);
      if (renditions.length === 0)
        throw streamErrors.encodingFailed({ reason: `the video has no content for a download of type ${type}` });
      const openSegmentOf = (rendition: RenditionSource, segment: number | "init") =>
        openWithRetry(rendition, segment, { clock, signal });
      const kind = type === "audio" ? "M4A " : "isom";
      const file = await muxFile({
        renditions,
        kind,
        open: openSegmentOf,
        signal,
        onIndexProgress: (share) => reportProgress(share * HEADERS_READ_PERCENT),
      });
      await objects.put(
        key,
        file.body((share) => reportProgress(HEADERS_READ_PERCENT + share * (100 - HEADERS_READ_PERCENT))),
      );
      // The download was deleted in the meantime, alone or with its video: the result is unreferenced.
      if (!(await table.change(row, { build: storedBuild, status: "ready", percent: 100, modified_at: clock.now() })))
        await objects.delete([key]);
    } catch (err) {
      await removeIncomplete(key, row);
      if (signal.aborted || attempt < DOWNLOAD_ATTEMPTS) throw err;
      log.warn({ err, video: uid, type }, `stream: failed to create a download: ${messageOf(err)}`);
      await table.change(row, { status: "error", modified_at: clock.now() });
    }
  };
}

/** Retries while the encoder is overloaded. */
async function openWithRetry(
  rendition: RenditionSource,
  segment: number | "init",
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<SegmentBytes> {
  for (let attemptCount = 1; ; attemptCount++) {
    try {
      const bytes = await rendition.open(segment, signal);
      if (bytes === undefined)
        throw streamErrors.encodingFailed({ reason: `there is no segment ${segment} of ${rendition.name}` });
      return bytes;
    } catch (err) {
      if (!(err instanceof UserError && err.kind === "encoderBusy") || attemptCount >= MAX_BUSY_ATTEMPTS) throw err;
      await clock.sleep(BUSY_RETRY_MS, signal);
    }
  }
}

/** Writes progress at most once per second, without waiting for the write. */
function createProgressReporter(table: DownloadsTable, row: DownloadRow, clock: Clock) {
  let next = clock.now() + PROGRESS_INTERVAL_MS;
  let isWriting = false;
  return (percent: number) => {
    if (isWriting || clock.now() < next) return;
    isWriting = true;
    next = clock.now() + PROGRESS_INTERVAL_MS;
    table
      .change(row, { percent: Math.min(99, Math.floor(percent)), modified_at: clock.now() })
      .catch(() => {})
      .finally(() => (isWriting = false));
  };
}
