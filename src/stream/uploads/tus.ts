import type { IncomingMessage, ServerResponse } from "node:http";
import { DataStore, Server, Upload, type Lock } from "@tus/server";
import { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import { atMost, checkSize } from "./creation.ts";
import type { UploadsParts } from "./parts.ts";
import type { Sources } from "./sources.ts";
import type { UploadLock } from "./upload-lock.ts";
import { DEFERRED, type UploadRow, type UploadsTable } from "./uploads-table.ts";

/** Exposed to scripts of other origins, in addition to the protocol's own headers. */
const EXPOSED = ["Stream-Media-Id", "Upload-Expires"];
/** How long a request may keep writing data it has already read after it was asked to release the lock. */
const LET_GO_MS = 500;

interface TusParts extends Pick<UploadsParts, "videos" | "log" | "settings"> {
  table: UploadsTable;
  sources: Sources;
  lock: UploadLock;
}

/**
 * HEAD, PATCH and DELETE of TUS 1.0.0 on existing uploads. Creation is handled elsewhere, because it validates the
 * video's properties first.
 */
export function createTus({
  table,
  sources,
  lock,
  videos,
  log,
  settings,
}: TusParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  async function rowOf(uid: string): Promise<UploadRow & { length: number }> {
    const row = await table.find(uid);
    if (row === undefined || row.length === null) throw streamErrors.uploadNotFound();
    return row as UploadRow & { length: number };
  }

  const store = Object.assign(new DataStore(), {
    extensions: ["creation", "creation-with-upload", "creation-defer-length", "termination"],
    async getUpload(uid: string): Promise<Upload> {
      const row = await rowOf(uid);
      const offset = await sources.offset(row);
      // All data had arrived, but the request with the last data was interrupted.
      if (offset === row.length && row.finished_at === null) await sources.finish(row, row.length);
      return new Upload({ id: uid, offset, ...(row.length !== DEFERRED && { size: row.length }) });
    },
    /** Throws notAVideo, tooLarge. */
    async declareUploadLength(uid: string, length: number): Promise<void> {
      const video = await videos.find(uid);
      if (video === undefined) throw streamErrors.uploadNotFound();
      checkSize(length, video.maxSizeBytes, settings);
      await table.change(uid, { length });
    },
    async write(body: AsyncIterable<Uint8Array>, uid: string, offset: number) {
      const row = await rowOf(uid);
      return sources.append(row, offset, row.length === DEFERRED ? atMost(DEFERRED, body, settings, offset) : body);
    },
    /**
     * For a one-time URL, deletes only the upload; otherwise also deletes the video, which can no longer be uploaded.
     */
    async remove(uid: string): Promise<void> {
      const row = await rowOf(uid);
      await sources.discard(uid);
      if (row.kind === "direct") return table.change(uid, { length: null, metadata: null });
      await videos.delete(row.account_id, uid);
      await table.remove(uid);
    },
  });

  function newLock(uid: string): Lock {
    let end: (() => void) | undefined;
    return {
      async lock(signal, letGo) {
        end = await lock.acquire(uid, { signal, onWanted: () => void letGo() });
        if (end === undefined) throw streamErrors.uploadBusy();
      },
      unlock: async () => end?.(),
    };
  }

  const server = new Server({
    path: "/upload",
    datastore: store,
    locker: { newLock },
    lockDrainTimeout: LET_GO_MS,
    disableTerminationForFinishedUploads: true,
    exposedHeaders: EXPOSED,
    getFileIdFromRequest: (request) => /^\/upload\/([0-9a-f]{32})\//.exec(new URL(request.url).pathname)?.[1],
    onResponseError(_, err) {
      if (err instanceof UserError) return { status_code: err.entry.http, body: `${textOf(err)}\n` };
      if ("status_code" in err) return undefined;
      log.error({ err }, "stream: upload failed");
      return { status_code: 500, body: "Something went wrong here; what has arrived is kept.\n" };
    },
  });
  return async (request, response) => void (await server.handle(request, response));
}

export const textOf = ({ message, fix }: UserError): string => (fix === undefined ? message : `${message}. ${fix}`);
