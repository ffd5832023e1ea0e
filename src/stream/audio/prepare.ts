import { type Ids, messageOf, type Log } from "../../kernel/index.ts";
import { FetchError, type GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { isStoreError, withLeasedFiles, type Job, type JobContext, type ObjectStore } from "../../store/index.ts";
import type { MediaTools } from "../media/index.ts";
import { describeFile, type FileDescription, createMezzanine, needsMezzanine, ProbeRejected } from "../probe/index.ts";
import { describeStatus, isSuccessStatus, isPermanentStatus } from "../uploads/index.ts";
import type { Videos } from "../videos/index.ts";
import type { AudioSource } from "../encode/index.ts";
import type { AudioTrackRow, TracksTable } from "./tracks-table.ts";

interface PrepareDeps {
  objects: ObjectStore;
  videos: Pick<Videos, "find">;
  tools: MediaTools;
  fetch: GuardedFetch;
  table: TracksTable;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Directory for indexed copies while they are being written. */
  folder: string;
  /** Maximum number of bytes to fetch. */
  maxBytes: number;
  /** Called when the tracks of this video have changed. */
  notifyChanged(video: string): void;
}

export const AUDIO_ATTEMPTS = 6;
const MAX_FETCH_MS = 6 * 3_600_000;
/** Minimum bytes per 30 s; the download from a slower origin is aborted. */
const MIN_BYTES_PER_INTERVAL = 64 * 1024;

/** Returns the key prefix of everything that belongs to a track except its segments. */
export const trackFolder = (video: string, track: string): string => `stream/${video}/tracks/${track}`;
/** Returns the key of an uploaded file. Keys of fetched files have an additional suffix. */
export const uploadedKey = (video: string, track: string): string => `${trackFolder(video, track)}/source`;

/** The file has no usable audio or cannot be fetched: a retry would not help. */
class UnusableFileError extends Error {}

/** Runs the job `stream.audio`: fetches the file if it is not stored yet, and probes it. */
export function createPreparer(deps: PrepareDeps) {
  const { objects, videos, table, log, notifyChanged } = deps;

  return async ({ payload, attempt }: Job, { signal }: JobContext): Promise<void> => {
    const { track } = payload as { track: string };
    const row = await table.find(track);
    if (row === undefined || row.status !== "queued" || (await videos.find(row.video_uid)) === undefined) return;
    try {
      const { source, temporaryKeys } = await prepare(deps, row, signal);
      const isStored = await table.change(track, { status: "ready", source: JSON.stringify(source) });
      // The track was deleted in the meantime: the result is unreferenced.
      await objects.delete(isStored ? temporaryKeys : [...temporaryKeys, source.key]);
    } catch (err) {
      if (signal.aborted || (attempt < AUDIO_ATTEMPTS && !isPermanent(err))) throw err;
      log.info({ err, video: row.video_uid, track }, "stream: audio track rejected");
      await table.change(track, { status: "error", error: messageOf(err).slice(0, 1000) });
    }
    notifyChanged(row.video_uid);
  };
}

const isPermanent = (err: unknown): boolean =>
  err instanceof UnusableFileError ||
  err instanceof ProbeRejected ||
  (err instanceof FetchError && err.permanent) ||
  isStoreError(err, "tooLarge");

interface PreparedTrack {
  source: AudioSource;
  /** Keys to delete once the row refers to the source. */
  temporaryKeys: string[];
}

/** Deletes a fetched file that cannot be prepared; the next attempt fetches it again, under another key. */
async function prepare(prepareDeps: PrepareDeps, row: AudioTrackRow, signal: AbortSignal): Promise<PreparedTrack> {
  const { objects, log, ids } = prepareDeps;
  const { uid, video_uid: video, url } = row;
  const uploadKey = uploadedKey(video, uid);
  // Earlier versions stored fetched files under the key of uploaded ones.
  if (url === null || (await objects.open(uploadKey)) !== undefined)
    return prepareFile(prepareDeps, row, uploadKey, signal);
  const fetchedKey = `${uploadKey}-${ids.hex()}`;
  try {
    await fetchFile(prepareDeps, url, fetchedKey, signal);
    return await prepareFile(prepareDeps, row, fetchedKey, signal);
  } catch (err) {
    await objects
      .delete([fetchedKey])
      .catch((cause: unknown) => log.warn({ err: cause, key: fetchedKey }, "stream: failed to delete a fetched file"));
    throw err;
  }
}

async function prepareFile(
  prepareDeps: PrepareDeps,
  { uid, video_uid: video }: AudioTrackRow,
  uploadKey: string,
  signal: AbortSignal,
): Promise<PreparedTrack> {
  const { objects, tools } = prepareDeps;
  const options = { signal, urgency: "soon" } as const;
  const useFile = <Result>(key: string, use: (path: string) => Promise<Result>) =>
    withLeasedFiles(objects, [key], async ([path]) => {
      if (path === undefined) throw new UnusableFileError("the file no longer exists");
      return use(path);
    });
  const probe = (key: string) =>
    useFile(key, async (path) => {
      const description = await describeFile(tools, path, options);
      return { key, description, audio: selectAudioStream(description) };
    });
  let probedFile = await probe(uploadKey);
  if (needsMezzanine(probedFile.description)) {
    const { size } = (await objects.open(uploadKey))!;
    const tracks = { audio: probedFile.audio };
    // Stored under the track, as a video's own file is stored under the video.
    const mezzanine = await useFile(uploadKey, (path) =>
      createMezzanine(prepareDeps, `${video}/tracks/${uid}`, path, size, tracks, options),
    );
    probedFile = await probe(mezzanine);
  }
  const {
    key,
    description: { format, duration },
    audio,
  } = probedFile;
  return {
    source: {
      key,
      format,
      stream: audio.index,
      codec: audio.codec!,
      channels: audio.channels,
      sampleRate: audio.sampleRate,
      duration: duration ?? 0,
    },
    temporaryKeys: key === uploadKey ? [] : [uploadKey],
  };
}

async function fetchFile(
  { objects, fetch, maxBytes }: PrepareDeps,
  url: string,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(url, {
    signal,
    totalTimeoutMs: MAX_FETCH_MS,
    minBytesPerWindow: MIN_BYTES_PER_INTERVAL,
    maxBytes,
  });
  try {
    if (!isSuccessStatus(response.status))
      throw isPermanentStatus(response.status)
        ? new UnusableFileError(describeStatus(url, response.status))
        : new Error(describeStatus(url, response.status));
    const { size } = await objects.put(key, response.body, { maxBytes });
    if (size === 0) throw new UnusableFileError("the file is empty");
  } finally {
    response.close();
  }
}

/** Returns the file's default audio stream, or else its first. */
function selectAudioStream({ streams }: FileDescription): FileDescription["streams"][number] {
  const audioStreams = streams.filter(
    ({ kind, codec, channels, sampleRate }) =>
      kind === "audio" && codec !== undefined && channels > 0 && sampleRate > 0,
  );
  const audioStream = audioStreams.find(({ isDefault }) => isDefault) ?? audioStreams[0];
  if (audioStream === undefined) throw new UnusableFileError("the file has no audio");
  return audioStream;
}
