import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "../videos/index.ts";
import { limitBytes, checkSize, deferredLengthLimit } from "./creation.ts";
import type { UploadsDeps } from "./deps.ts";
import { discardBody, receivedBody } from "./request-body.ts";
import type { Sources } from "./sources.ts";
import { checkContentLength, checkHeaderValues, checkPatchHeaders, readPatch } from "./tus-protocol.ts";
import type { UploadLock } from "./upload-lock.ts";
import { DEFERRED_LENGTH, type UploadRow, type UploadsTable } from "./uploads-table.ts";

/**
 * For scripts from other origins. The value is part of the wire contract, and longer than the list of other responses.
 */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Authorization, Content-Type, Location, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Concat, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Requested-With, X-Forwarded-Host, X-Forwarded-Proto, Forwarded, Stream-Media-Id,Upload-Expires",
};
const TEXT_TYPE = "text/plain;charset=UTF-8";
/** Time for which a request may continue to store its data after another request has asked for the lock. */
const RELEASE_MS = 500;

interface TusDeps extends Pick<UploadsDeps, "videos" | "log" | "settings"> {
  table: UploadsTable;
  sources: Sources;
  lock: UploadLock;
}

/**
 * HEAD, PATCH and DELETE of TUS 1.0.0 on the upload of `video`. The caller has checked the secret and Tus-Resumable.
 * Creation is handled elsewhere, because it validates the video's properties first.
 */
export type Tus = (
  request: IncomingMessage,
  response: ServerResponse,
  upload: { method: "HEAD" | "PATCH" | "DELETE"; video: Video },
) => Promise<void>;

export function createTus({ table, sources, lock, videos, log, settings }: TusDeps): Tus {
  /** Finds the upload and its offset. The caller must hold the lock. Throws uploadNotFound, notAVideo. */
  async function findUpload(uid: string): Promise<{ row: UploadRow & { length: number }; offset: number }> {
    const row = await table.find(uid);
    if (row === undefined || row.length === null) throw streamErrors.uploadNotFound();
    const offset = await sources.offset(row);
    // All data had arrived, but the request with the last data was interrupted.
    if (offset === row.length && row.finished_at === null) await sources.finish(row, row.length);
    return { row: { ...row, length: row.length }, offset };
  }

  /**
   * Runs `work` while it holds the lock of the upload. `released` aborts shortly after another request has asked for
   * the lock. Throws uploadBusy.
   */
  async function withLock<Result>(
    uid: string,
    response: ServerResponse,
    work: (released: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const [closeController, released] = [new AbortController(), new AbortController()];
    const onClose = () => closeController.abort();
    let timer: NodeJS.Timeout | undefined;
    response.once("close", onClose);
    try {
      const end = await lock.acquire(uid, {
        signal: closeController.signal,
        onContended: () => void (timer ??= setTimeout(() => released.abort(), RELEASE_MS)),
      });
      if (end === undefined) throw streamErrors.uploadBusy();
      try {
        return await work(released.signal);
      } finally {
        end();
      }
    } finally {
      clearTimeout(timer);
      response.off("close", onClose);
    }
  }

  async function sendHead(response: ServerResponse, { uid }: Video): Promise<void> {
    const { row, offset } = await withLock(uid, response, () => findUpload(uid));
    writeHead(response, 200, {
      "cache-control": "no-store",
      "content-type": TEXT_TYPE,
      ...(row.length === DEFERRED_LENGTH ? { "upload-defer-length": 1 } : { "upload-length": row.length }),
      "upload-offset": offset,
    }).end();
  }

  async function patch(request: IncomingMessage, response: ServerResponse, video: Video): Promise<void> {
    const headers = readPatch(request);
    const { uid, maxSizeBytes } = video;
    const { offset, released } = await withLock(uid, response, async (released) => {
      const { row, offset } = await findUpload(uid);
      checkPatchHeaders(headers, { offset, length: row.length === DEFERRED_LENGTH ? undefined : row.length });
      const { uploadLength = row.length } = headers;
      if (uploadLength !== row.length) {
        checkSize(uploadLength, maxSizeBytes, settings);
        await table.change(uid, { length: uploadLength });
      }
      const limit =
        uploadLength === DEFERRED_LENGTH
          ? deferredLengthLimit(maxSizeBytes, settings)
          : { bytes: uploadLength, exceeded: streamErrors.bodyTooLong };
      checkContentLength(headers, { offset, length: uploadLength === DEFERRED_LENGTH ? undefined : uploadLength });
      const body = limitBytes(limit, receivedBody(request, released), offset);
      return { offset: await sources.append({ ...row, length: uploadLength }, offset, body), released };
    });
    // After a release, the rest of the body is still arriving.
    writeHead(response, 204, { ...(released.aborted && { connection: "close" }), "upload-offset": offset }).end();
  }

  /** For a one-time URL, deletes only the upload; otherwise also the video, which can no longer be uploaded. */
  async function terminate(response: ServerResponse, { uid }: Video): Promise<void> {
    const isComplete = await withLock(uid, response, async () => {
      const { row, offset } = await findUpload(uid);
      if (offset === row.length) return true;
      await sources.discard(row);
      if (row.kind === "direct") await table.change(uid, { length: null, metadata: null });
      else {
        await videos.delete(row.account_id, uid);
        await table.remove(uid);
      }
      return false;
    });
    if (!isComplete) return void writeHead(response, 204, {}).end();
    const { entry, message } = streamErrors.uploadComplete();
    // The only text without a line break, as clients know it.
    writeHead(response, entry.http, { "content-length": message.length, "content-type": TEXT_TYPE }).end(message);
  }

  /** Responds immediately, and ends the response once the client has sent its body. */
  async function sendError(
    request: IncomingMessage,
    response: ServerResponse,
    err: unknown,
    headers: Headers = {},
  ): Promise<void> {
    if (!(err instanceof UserError)) log.error({ err }, "stream: upload failed");
    const [status, text] =
      err instanceof UserError
        ? [err.entry.http, `${userErrorText(err)}\n`]
        : [500, "Internal error. The data received so far is kept.\n"];
    writeHead(response, status, { ...headers, "content-length": Buffer.byteLength(text), "content-type": TEXT_TYPE });
    response.write(text);
    await discardBody(request);
    response.end();
  }

  return async (request, response, { method, video }) => {
    try {
      checkHeaderValues(request, method);
    } catch (err) {
      return sendError(request, response, err);
    }
    try {
      if (method === "HEAD") await sendHead(response, video);
      else if (method === "DELETE") await terminate(response, video);
      else await patch(request, response, video);
    } catch (err) {
      await sendError(request, response, err, method === "PATCH" ? { connection: "close" } : {});
    }
  };
}

type Headers = Record<string, string | number>;

const writeHead = (response: ServerResponse, status: number, headers: Headers): ServerResponse =>
  response.writeHead(status, { ...CORS, "tus-resumable": "1.0.0", ...headers });

export const userErrorText = ({ message, fix }: UserError): string =>
  fix === undefined ? message : `${message}. ${fix}`;
