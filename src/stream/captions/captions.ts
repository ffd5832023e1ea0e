import { formatVtt, readCaptions } from "../../protocol/webvtt/index.ts";
import type { Repetition } from "../../kernel/periodic.ts";
import { createReadThroughCache } from "../../kernel/recent.ts";
import { localSweeps } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "../videos/index.ts";
import { createCaptionsTable, type CaptionRow } from "./captions-table.ts";
import { createEmbeddedCaptions } from "./embedded.ts";
import { createGeneration } from "./generation.ts";
import { canonicalLanguage, languageLabel } from "./language.ts";
import type { CaptionsDeps } from "./deps.ts";
import type { Caption, Captions } from "./port.ts";

/** The event id is the uid of the video. */
export const CAPTIONS_CHANGED = "stream.captions";
/** There are about 200 two-letter languages. */
const MAX_LANGUAGES = 200;
const MAX_CACHED_VIDEOS = 2000;
const RECOVERY_INTERVAL_MS = 60_000;
/** Changes are announced immediately; this bounds the delay if a notification is lost. */
const FRESHNESS_MS = 10_000;

export function createCaptions(deps: CaptionsDeps): Captions {
  const { db, objects, events, sweeps = localSweeps, clock, ids, log, videos } = deps;
  const table = createCaptionsTable(db);
  /** Every manifest reads the captions of its video. */
  const captionsCache = createReadThroughCache({
    read: (uid: string) => table.of(uid),
    clock,
    max: MAX_CACHED_VIDEOS,
    ttlMs: FRESHNESS_MS,
  });
  const forget = (uid: string) => captionsCache.forget((_, key) => uid === "" || key === uid);
  const unsubscribe = events.subscribe(CAPTIONS_CHANGED, forget);
  const notifyChanged = (uid: string) => {
    forget(uid);
    events.publish(CAPTIONS_CHANGED, uid);
  };

  async function storeVtt(uid: string, vtt: string): Promise<string> {
    const key = `stream/${uid}/captions/${ids.hex()}.vtt`;
    await objects.put(key, Buffer.from(vtt));
    return key;
  }
  /** An orphaned object is deleted together with its video. */
  async function deleteVtt(key: string | null | undefined) {
    if (key == null) return;
    await objects
      .delete([key])
      .catch((err: unknown) => log.warn({ err, key }, "stream: failed to delete unreferenced captions"));
  }

  let recovery: Repetition | undefined;
  const generation = createGeneration({ ...deps, table, storeVtt, deleteVtt, notifyChanged });

  const embeddedCaptions = createEmbeddedCaptions({ ...deps, store });

  /** Stores subtitles from a file, unless captions in this language exist. */
  async function store(
    { uid, account }: Pick<Video, "uid" | "account">,
    { language, title }: { language: string; title?: string },
    vtt: string,
  ): Promise<void> {
    const key = await storeVtt(uid, vtt);
    const now = clock.now();
    const put = await table.put(
      {
        video_uid: uid,
        language,
        account_id: account,
        label: title ?? languageLabel(language),
        generated: 0,
        status: "ready",
        object_key: key,
        attempt: null,
        job: null,
        created_at: now,
        modified_at: now,
      },
      MAX_LANGUAGES,
      () => false,
    );
    if (put === "full" || "refused" in put) return deleteVtt(key);
    notifyChanged(uid);
    if ((await videos.find(uid)) === undefined) {
      await table.deleteAll(uid);
      await deleteVtt(key);
    }
  }

  /** Captions of a video that was deleted in the meantime may be written after the cleanup. */
  async function assertNotDeleted({ uid }: Video, key: string): Promise<void> {
    if ((await videos.find(uid)) !== undefined) return;
    await table.deleteAll(uid);
    await deleteVtt(key);
    throw streamErrors.videoNotFound({ uid });
  }

  async function rowOf(account: string, uid: string, given: string): Promise<CaptionRow> {
    const language = canonicalLanguage(given);
    await videos.get(account, uid);
    const row = await table.find(uid, language);
    if (row === undefined) throw streamErrors.captionNotFound({ language });
    return row;
  }

  async function read({ status, object_key: key }: CaptionRow): Promise<string | undefined> {
    const object = status === "ready" && key !== null ? await objects.open(key) : undefined;
    return object && (await object.bytes()).toString();
  }

  return {
    async upload(account, uid, given, file) {
      const language = canonicalLanguage(given);
      const video = await videos.get(account, uid);
      const reading = readCaptions(file);
      if (!reading.ok) throw streamErrors.badCaptions({ reason: reading.why });
      const key = await storeVtt(uid, formatVtt(reading.captions));
      const now = clock.now();
      const row: CaptionRow = {
        video_uid: uid,
        language,
        account_id: account,
        label: languageLabel(language),
        generated: 0,
        status: "ready",
        object_key: key,
        attempt: null,
        job: null,
        created_at: now,
        modified_at: now,
      };
      const put = await table.put(row, MAX_LANGUAGES).catch(async (err: unknown) => {
        await deleteVtt(key);
        throw err;
      });
      if (put === "full") {
        await deleteVtt(key);
        throw streamErrors.tooManyCaptions({ limit: MAX_LANGUAGES });
      }
      notifyChanged(uid);
      if ("replaced" in put) await deleteVtt(put.replaced);
      await assertNotDeleted(video, key);
      const { skipped } = reading;
      return {
        caption: toCaption(row),
        unread:
          skipped &&
          `${skipped.count} cue${skipped.count === 1 ? "" : "s"} could not be parsed and ${skipped.count === 1 ? "was" : "were"} skipped; the first is on line ${skipped.line}`,
      };
    },
    importEmbedded: embeddedCaptions.importEmbedded,
    async generate(account, uid, given) {
      const language = canonicalLanguage(given);
      return toCaption(await generation.begin(await videos.get(account, uid), language, MAX_LANGUAGES));
    },
    async list(account, uid) {
      await videos.get(account, uid);
      return (await table.of(uid)).map(toCaption);
    },
    get: async (account, uid, language) => toCaption(await rowOf(account, uid, language)),
    async text(account, uid, language) {
      const row = await rowOf(account, uid, language);
      const text = await read(row);
      if (text === undefined) throw streamErrors.captionNotFound({ language: row.language });
      return text;
    },
    async delete(account, uid, language) {
      const row = await rowOf(account, uid, language);
      const deletedRow = await table.delete(uid, row.language);
      notifyChanged(uid);
      await deleteVtt(deletedRow?.object_key);
    },
    async onVideoDeleted(uid) {
      await table.deleteAll(uid);
      notifyChanged(uid);
    },

    of: async (uid) =>
      (await captionsCache.get(uid))!
        .filter(({ status }) => status === "ready")
        .map(({ language, label, generated }) => ({ language, label, generated: generated === 1 })),
    async vtt(uid, given) {
      const row = (await captionsCache.get(uid))!.find(({ language }) => language === given);
      const text = row && (await read(row));
      if (text !== undefined || row === undefined) return text;
      // The captions were replaced after the row was read and before the file was read.
      const now = await table.find(uid, given);
      return now && read(now);
    },

    recover: generation.recover,
    start() {
      generation.start();
      embeddedCaptions.start();
      recovery ??= sweeps.every(RECOVERY_INTERVAL_MS, generation.recover, {
        name: "stream: recovery of generated captions",
        log,
      });
      void recovery.run();
    },
    async close() {
      unsubscribe();
      await recovery?.stop();
      await Promise.all([generation.close(), embeddedCaptions.close()]);
    },
  };
}

const toCaption = ({ language, label, generated, status }: CaptionRow): Caption => ({
  language,
  label,
  generated: generated === 1,
  status,
});
