import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Repetition } from "../../kernel/periodic.ts";
import { createReadThroughCache, type ReadThroughCache } from "../../kernel/recent.ts";
import { type Clock, type Ids, isHexId, type Log } from "../../kernel/index.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Settings } from "../../kernel/settings.ts";
import {
  localSweeps,
  type Db,
  type Events,
  type Jobs,
  type JobWorker,
  type ObjectStore,
  type Sweeps,
} from "../../store/index.ts";
import { languageLabel } from "../captions/index.ts";
import { streamErrors } from "../errors.ts";
import type { MediaTools } from "../media/index.ts";
import { audioRendition } from "../model.ts";
import type { AudioTracks, ExtraAudio } from "../playback/index.ts";
import { fetchOriginInfo, readStreamedForm } from "../uploads/index.ts";
import { type Video, VIDEO_CHANGED, type Videos } from "../videos/index.ts";
import type { AudioSource, AudioSources } from "../encode/index.ts";
import type { AddedTrack } from "./port.ts";
import { AUDIO_ATTEMPTS, createPreparer, trackFolder, uploadedKey } from "./prepare.ts";
import { createTracksTable, type AudioTrackRow } from "./tracks-table.ts";

interface AudioDeps {
  db: Db;
  objects: ObjectStore;
  jobs: Jobs;
  events: Events;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  videos: Pick<Videos, "get" | "find">;
  tools: MediaTools;
  fetch: GuardedFetch;
  settings: Pick<Settings["stream"], "upload_gb" | "basic_upload_mb">;
  /** For temporary files. */
  folder: string;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
}

/** Additional audio tracks of a video: other languages, commentary. */
export interface Audio {
  /**
   * Fetches the file later, in a job. Throws videoNotFound, badParameter, invalidUrl, urlNotPublic, notAVideo,
   * tooLarge.
   */
  copy(account: string, video: string, requested: { url: string; label: string }): Promise<AddedTrack>;
  /**
   * Reads a form with the fields `file` and `label` as it arrives. Calls `confirm` at the end of the form. Throws
   * videoNotFound, badParameter, tooLarge, formBrokeOff.
   */
  form(
    account: string,
    video: string,
    incoming: IncomingMessage,
    confirm?: () => Promise<unknown>,
  ): Promise<AddedTrack>;
  /** Adds the uploaded file's other audio tracks to the video, ready immediately. Idempotent. */
  importEmbedded(video: Pick<Video, "uid" | "account" | "model">): Promise<void>;
  list(account: string, video: string): Promise<AddedTrack[]>;
  /**
   * At most one track is the default: setting it clears the flag of the others. Throws videoNotFound, trackNotFound,
   * badParameter.
   */
  edit(
    account: string,
    video: string,
    track: string,
    change: { label?: string | undefined; default?: boolean | undefined },
  ): Promise<AddedTrack>;
  /** Throws videoNotFound, trackNotFound, and badParameter for the default track. */
  delete(account: string, video: string, track: string): Promise<void>;
  /** Deletes the rows of a deleted video. */
  onVideoDeleted(video: string): Promise<void>;
  /** Enqueues work whose job was lost in a crash. */
  recover(): Promise<void>;
  /** Audio tracks for manifests. */
  readonly tracks: AudioTracks;
  /** Audio sources for the encoder. */
  readonly sources: AudioSources;
  /** Runs the job `stream.audio`, and `recover` every minute, until closed. Called in processes that encode. */
  start(): void;
  close(): Promise<void>;
}

const AUDIO_JOB = "stream.audio";
const MAX_CONCURRENT_JOBS = 2;
const LEASE_MS = 30_000;
const RECOVERY_INTERVAL_MS = 60_000;
const RECOVER_AFTER_MS = 60_000;
const RECOVERY_BATCH = 200;
const CACHE_LIMITS = { max: 2000, ttlMs: 60_000 };
/** Each manifest contains one playlist per track. */
const MAX_TRACKS = 32;
const MAX_LABEL_LENGTH = 200;
const MAX_URL_LENGTH = 8192;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const DELETE_BATCH_SIZE = 500;

export function createAudio(deps: AudioDeps): Audio {
  const { db, objects, jobs, events, videos, fetch, settings, clock, ids, log } = deps;
  const table = createTracksTable(db);
  const tracksCache: ReadThroughCache<ExtraAudio[]> = createReadThroughCache({
    clock,
    ...CACHE_LIMITS,
    read: async (video) =>
      (await table.of(video))
        .filter(({ status }) => status === "ready")
        .map(({ uid, label, language, is_default: isDefault }) => ({
          uid,
          label,
          ...(language !== null && { language }),
          default: isDefault === 1,
        })),
  });
  const unsubscribe = events.subscribe(VIDEO_CHANGED, forget);
  const maxBytes = Math.floor(settings.upload_gb * GIB);
  let worker: JobWorker | undefined;
  let recovery: Repetition | undefined;

  function forget(video: string) {
    tracksCache.forget((_, key) => video === "" || key === video);
  }

  function notifyChanged(video: string) {
    forget(video);
    events.publish(VIDEO_CHANGED, video);
  }

  async function recover(): Promise<void> {
    for (const row of await table.queued(clock.now() - RECOVER_AFTER_MS, RECOVERY_BATCH)) {
      const job = row.job === "" ? undefined : await jobs.get(row.job);
      if (job?.status === "failed") {
        await table.change(row.uid, { status: "error", error: job.error ?? "it could not be processed" });
        notifyChanged(row.video_uid);
      } else if (job === undefined || job.status === "done") {
        await enqueue(row);
      }
    }
  }

  async function insert(
    account: string,
    video: string,
    { uid, label, url }: { uid: string; label: string; url: string | null },
  ): Promise<AddedTrack> {
    const row: AudioTrackRow = {
      uid,
      video_uid: video,
      account_id: account,
      label,
      is_default: 0,
      status: "queued",
      url,
      source: null,
      error: null,
      language: null,
      job: "",
      created_at: clock.now(),
    };
    const put = await table.insert(row, MAX_TRACKS);
    if (put === "full")
      throw streamErrors.badParameter({ reason: `a video can have at most ${MAX_TRACKS} additional audio tracks` });
    if (put === "labelTaken") throw duplicateLabel(label);
    // If this fails, `recover` creates the job: the row exists and already owns its file.
    await enqueue(row).catch((err: unknown) =>
      log.warn({ err, video, track: uid }, "stream: failed to create the job for an audio track, will retry"),
    );
    return toAddedTrack(row);
  }

  async function enqueue({ uid }: AudioTrackRow): Promise<void> {
    await table.change(uid, {
      job: await jobs.enqueue(AUDIO_JOB, { track: uid }, { key: uid, attempts: AUDIO_ATTEMPTS }),
    });
  }

  /** Checked before anything is fetched or stored. */
  async function checkLabel(video: string, given: string | undefined): Promise<string> {
    const label = checkedLabel(given);
    if ((await table.of(video)).some((row) => row.label === label)) throw duplicateLabel(label);
    return label;
  }

  return {
    async copy(account, video, { url, label: given }) {
      await videos.get(account, video);
      const label = await checkLabel(video, given);
      if (url.length > MAX_URL_LENGTH)
        throw streamErrors.invalidUrl({ reason: `it has more than ${MAX_URL_LENGTH} characters` });
      const { size } = await fetchOriginInfo(fetch, url);
      if ((size ?? 0) > maxBytes)
        throw streamErrors.tooLarge({ limit: maxBytes, rule: "the maximum for uploads (stream.upload_gb)" });
      return insert(account, video, { uid: ids.hex(), label, url });
    },
    async form(account, video, incoming, confirm) {
      await videos.get(account, video);
      const uid = ids.hex();
      const key = uploadedKey(video, uid);
      const fields = new Map<string, string>();
      try {
        const maxUploadBytes = settings.basic_upload_mb * MIB;
        const { size } = await readStreamedForm(
          incoming,
          maxUploadBytes,
          ({ body }) => objects.put(key, body, { maxBytes: maxUploadBytes }),
          {
            fields,
            rejectionReason: () => undefined,
          },
        );
        if (size === 0) throw streamErrors.badParameter({ reason: "the file is empty" });
        await confirm?.();
        // The video may have been deleted while the form was being read.
        await videos.get(account, video);
        return await insert(account, video, { uid, label: await checkLabel(video, fields.get("label")), url: null });
      } catch (err) {
        await objects.delete([key]);
        throw err;
      }
    },
    async importEmbedded({ uid: video, account, model }) {
      if (model?.moreAudio === undefined) return;
      const { key, format, start } = model.source;
      const rows = model.moreAudio.map(({ stream, codec, channels, sampleRate, language, title }, n): AudioTrackRow => {
        const source: AudioSource = {
          key,
          format,
          stream,
          codec,
          channels,
          sampleRate,
          start,
          duration: model.duration,
        };
        // A stable uid makes importEmbedded() idempotent; tracks are listed in file order.
        const uid = createHash("sha256").update(`${video}/audio/${stream}`).digest("hex").slice(0, 32);
        return {
          uid,
          video_uid: video,
          account_id: account,
          label: title ?? (language === undefined ? `Audio ${n + 2}` : languageLabel(language)),
          is_default: 0,
          status: "ready",
          url: null,
          source: JSON.stringify(source),
          error: null,
          language: language ?? null,
          job: "",
          created_at: clock.now() + n,
        };
      });
      if (await table.importEmbedded(video, rows, MAX_TRACKS)) notifyChanged(video);
    },
    async list(account, video) {
      await videos.get(account, video);
      return (await table.of(video)).map(toAddedTrack);
    },
    async edit(account, video, track, change) {
      await videos.get(account, video);
      const label = change.label === undefined ? undefined : checkedLabel(change.label);
      const row = isHexId(track) ? await table.edit(video, track, { label, isDefault: change.default }) : undefined;
      if (row === undefined) throw streamErrors.trackNotFound({ uid: track });
      if (row === "labelTaken") throw duplicateLabel(label!);
      notifyChanged(video);
      return toAddedTrack(row);
    },
    async delete(account, video, track) {
      await videos.get(account, video);
      const deletedTrack = isHexId(track) ? await table.delete(video, track) : undefined;
      if (deletedTrack === undefined) throw streamErrors.trackNotFound({ uid: track });
      if (deletedTrack === "isDefault")
        throw streamErrors.badParameter({
          reason: "the default audio track cannot be deleted: make another one the default first",
        });
      notifyChanged(video);
      for (const prefix of [trackFolder(video, track), `stream/${video}/${audioRendition(track)}`])
        await deleteByPrefix(objects, `${prefix}/`);
    },
    onVideoDeleted: (video) => table.deleteOf(video),
    recover,
    tracks: { of: async (video) => (await tracksCache.get(video)) ?? [] },
    sources: {
      async find({ uid }, rendition) {
        const row = rendition.startsWith("audio-") ? await table.find(rendition.slice(6)) : undefined;
        return row?.video_uid === uid && row.status === "ready" && row.source !== null
          ? (JSON.parse(row.source) as AudioSource)
          : undefined;
      },
    },
    start() {
      worker ??= jobs.work(
        AUDIO_JOB,
        { concurrency: MAX_CONCURRENT_JOBS, leaseMs: LEASE_MS },
        createPreparer({ ...deps, table, maxBytes, notifyChanged }),
      );
      recovery ??= (deps.sweeps ?? localSweeps).every(RECOVERY_INTERVAL_MS, recover, {
        name: "stream: recovery of audio tracks",
        log,
      });
      void recovery.run();
    },
    async close() {
      unsubscribe();
      await recovery?.stop();
      await worker?.stop();
    },
  };
}

const toAddedTrack = ({ uid, label, is_default: isDefault, status }: AudioTrackRow): AddedTrack => ({
  uid,
  label,
  default: isDefault === 1,
  status,
});
const duplicateLabel = (label: string) =>
  streamErrors.badParameter({ reason: `the video already has an audio track with the label ${JSON.stringify(label)}` });

function checkedLabel(given: string | undefined): string {
  const label = given?.trim().toWellFormed() ?? "";
  if (label === "")
    throw streamErrors.badParameter({ reason: "label is required: the name of the track shown to viewers" });
  if (label.length > MAX_LABEL_LENGTH)
    throw streamErrors.badParameter({
      reason: `label can have at most ${MAX_LABEL_LENGTH} characters, not ${label.length}`,
    });
  if (/\p{Cc}/u.test(label)) throw streamErrors.badParameter({ reason: "label must not contain control characters" });
  return label;
}

async function deleteByPrefix(objects: ObjectStore, prefix: string): Promise<void> {
  let keys: string[] = [];
  for await (const { key } of objects.list(prefix)) {
    keys.push(key);
    if (keys.length >= DELETE_BATCH_SIZE) await objects.delete(keys.splice(0));
  }
  await objects.delete(keys);
  await objects.removeEmptyFolders(prefix);
}
