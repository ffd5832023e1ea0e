import { buffer } from "node:stream/consumers";
import { isStoreError, type PartialObject } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { mezzaninePrefix } from "../probe/index.ts";
import type { Video } from "../videos/index.ts";
import type { UploadsDeps } from "./deps.ts";
import { SNIFFED_BYTES, nonVideoReason, sniffed } from "./sniff.ts";
import { DEFERRED_LENGTH, type UploadRow, type UploadsTable } from "./uploads-table.ts";
import { UserError } from "../../kernel/index.ts";

type SourceRow = Pick<UploadRow, "uid" | "source_key">;

/** Stores the source of a video while it is arriving, and completes it. */
export interface Sources {
  /**
   * Returns the object key of the source. With `attempt`, a separate key for attempts that may run concurrently,
   * including in other processes.
   */
  key(uid: string, attempt?: string): string;
  partial(row: SourceRow): PartialObject;
  /** Resolves with the number of bytes stored. */
  offset(row: UploadRow): Promise<number>;
  /**
   * Appends at `offset`, and queues the video if that completes the upload. The caller must hold the upload's lock.
   * Resolves with the number of bytes stored. Content sniffing discards a file that cannot be a video: the upload
   * restarts at 0. Throws notAVideo.
   */
  append(row: UploadRow & { length: number }, offset: number, body: AsyncIterable<Uint8Array>): Promise<number>;
  /**
   * Queues the video once all `length` bytes are stored. Idempotent. The caller must hold the upload's lock. Throws
   * notAVideo, except for copies.
   */
  finish(row: UploadRow, length: number): Promise<void>;
  /** Passes the data through and updates `touched_at` while doing so, so that others see that the upload is active. */
  trackActivity(uid: string, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Registers a source already stored under its key. Throws alreadyUploaded, videoNotFound. */
  registerSource(uid: string, source: { key: string; size: number }): Promise<Video>;
  discard(row: SourceRow): Promise<void>;
  /**
   * Deletes an unusable file and restarts the upload. The caller must hold the upload's lock. Undefined if the video
   * does not allow it.
   */
  reopen(row: UploadRow): Promise<UploadRow | undefined>;
}

/** Interval of row updates while data arrives, which show other processes that the upload is active. */
const TOUCH_MS = 60_000;

export function createSources(
  { objects, videos, clock, ids, log }: Pick<UploadsDeps, "objects" | "videos" | "clock" | "ids" | "log">,
  table: UploadsTable,
): Sources {
  const key = (uid: string, attempt?: string) => `stream/${uid}/source${attempt === undefined ? "" : `-${attempt}`}`;
  const keyOf = ({ uid, source_key: sourceKey }: SourceRow) => sourceKey ?? key(uid);
  const partialObject = (row: SourceRow) => objects.partial(keyOf(row));

  async function* trackActivity(uid: string, body: AsyncIterable<Uint8Array>) {
    let touched = clock.now();
    await table.change(uid, { touched_at: touched });
    for await (const piece of body) {
      if (clock.now() - touched > TOUCH_MS) await table.change(uid, { touched_at: (touched = clock.now()) });
      yield piece;
    }
  }

  async function registerSource(uid: string, source: { key: string; size: number }): Promise<Video> {
    try {
      return await videos.uploaded(uid, source);
    } catch (err) {
      // The video's objects may have been deleted before this one was stored.
      if (err instanceof UserError && err.kind === "videoNotFound") await objects.delete([source.key]).catch(() => {});
      throw err;
    }
  }

  async function finish(row: UploadRow, length: number): Promise<void> {
    const { uid } = row;
    try {
      await partialObject(row).complete(length);
    } catch (err) {
      // The video was deleted in the meantime, with the received data.
      if (isStoreError(err, "absent") && (await videos.find(uid)) === undefined) throw streamErrors.uploadNotFound();
      throw err;
    }
    if (row.kind !== "copy") await sniffStored(row, length);
    try {
      await registerSource(uid, { key: keyOf(row), size: length });
      log.info({ video: uid, account: row.account_id, octets: length, by: row.kind }, "stream: upload completed");
    } catch (err) {
      // An earlier process completed this step and died before the next one.
      if (!(err instanceof UserError && err.kind === "alreadyUploaded")) throw err;
    }
    await table.change(uid, { finished_at: clock.now(), length });
  }

  /** Sniffs the stored file, because its head may be split across requests too small to sniff. */
  async function sniffStored(row: UploadRow, length: number): Promise<void> {
    const object = await objects.open(keyOf(row));
    if (object === undefined) return;
    const head = await buffer(object.read({ start: 0, end: Math.min(length, SNIFFED_BYTES) - 1 }));
    const reason = nonVideoReason(head, length <= SNIFFED_BYTES);
    if (reason === undefined) return;
    await objects.delete([keyOf(row)]);
    await resetUpload(row);
    throw streamErrors.notAVideo({ reason });
  }

  /**
   * Resets the upload, whose next file gets another key. A one-time URL accepts a file of a different length; a TUS
   * upload keeps its declared length.
   */
  async function resetUpload(row: UploadRow): Promise<UploadRow> {
    const resetFields = {
      length: row.kind === "direct" ? null : row.length,
      metadata: row.kind === "direct" ? null : row.metadata,
      source_key: key(row.uid, ids.token(8)),
      finished_at: null,
      touched_at: clock.now(),
    };
    await partialObject(row).discard();
    await table.change(row.uid, resetFields);
    return { ...row, ...resetFields };
  }

  async function offset(row: UploadRow): Promise<number> {
    const { length, finished_at: finishedAt } = row;
    if (finishedAt !== null) return length ?? 0;
    const storedBytes = await partialObject(row).size();
    if (storedBytes > 0 || length === null) return storedBytes;
    // A previous process may have died between storing the object and announcing it.
    return (await objects.open(keyOf(row)))?.size === length ? length : 0;
  }

  return {
    key,
    partial: partialObject,
    offset,
    finish,
    registerSource,
    trackActivity,
    async append(row, at, body) {
      const file =
        at > 0
          ? body
          : sniffed(body, {
              maxBytes: Infinity,
              tooLarge: streamErrors.notAVideo,
              endsFile: (size) => size === row.length,
            });
      const storedBytes = await partialObject(row)
        .append(at, trackActivity(row.uid, file))
        .catch(async (err: unknown) => {
          if (err instanceof UserError && err.kind === "notAVideo") await resetUpload(row);
          throw err;
        });
      if (row.length !== DEFERRED_LENGTH && storedBytes >= row.length) await finish(row, row.length);
      else await table.change(row.uid, { touched_at: clock.now() });
      return storedBytes;
    },
    async discard(row) {
      await partialObject(row).discard();
    },
    async reopen(row) {
      const { uid } = row;
      const sourceKey = (await videos.find(uid))?.sourceKey;
      if ((await videos.reopened(uid)) === undefined) return undefined;
      const keys = new Set([sourceKey ?? keyOf(row), keyOf(row)]);
      for await (const { key: mezzanine } of objects.list(mezzaninePrefix(uid))) keys.add(mezzanine);
      await objects.delete([...keys]);
      log.info({ video: uid, account: row.account_id }, "stream: one-time URL reset after a failed upload");
      return resetUpload(row);
    },
  };
}
