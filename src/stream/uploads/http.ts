import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { isStoreError } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { mayReopen, type Video } from "../videos/index.ts";
import { checkChunk } from "./chunk-rules.ts";
import { checkTusHeaders, type CreationDeps, type UploadCreator, uploadLimit } from "./creation.ts";
import type { Forms } from "./forms.ts";
import type { UploadPageConfig } from "../player/index.ts";
import { discardBody, receivedBody } from "./request-body.ts";
import { UPLOAD_DATA } from "./tus-protocol.ts";
import { userErrorText, type Tus } from "./tus.ts";
import { DEFERRED_LENGTH, isSecretOf, type UploadRow } from "./uploads-table.ts";

interface UploadHttpDeps extends CreationDeps {
  creations: UploadCreator;
  forms: Forms;
  tus: Tus;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The end of the path, regardless of where it is mounted. */
const UPLOAD_PATH = /^[^?]*\/upload\/([0-9a-f]{32})\/([A-Za-z0-9_-]{16,64})\/?(?:\?|$)/;
const METHODS = "POST, HEAD, PATCH, DELETE, OPTIONS, GET";
/** The checksum extension is not supported: requests with Upload-Checksum are rejected. */
export const tusHeaders = (settings: Pick<UploadHttpDeps["settings"], "upload_gb">): Record<string, string> => ({
  "tus-resumable": "1.0.0",
  "tus-version": "1.0.0",
  "tus-extension": "creation,creation-with-upload,creation-defer-length,expiration,termination",
  "tus-max-size": String(uploadLimit(settings)),
});
/** Uploads are allowed from any origin: the URL is the credential. */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Location, Stream-Media-Id, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Defer-Length, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset",
};
const PREFLIGHT = {
  ...CORS,
  "access-control-allow-methods": METHODS,
  "access-control-max-age": "86400",
  "access-control-allow-headers":
    "Authorization, Content-Type, Tus-Resumable, Upload-Concat, Upload-Creator, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Request-ID, X-Requested-With",
};
const DAY_MS = 86_400_000;
/** An upload that received data within this time is still arriving. */
export const ACTIVE_UPLOAD_MS = 3_600_000;

/** Serves `/upload/<uid>/<secret>`. The URL is the credential; other credentials sent by a client are ignored. */
export function createUploadHttp(deps: UploadHttpDeps): Handler {
  const { clock, log, settings, urls, videos, table, creations, forms, tus, page } = deps;
  const maxBytes = uploadLimit(settings);

  /**
   * An upload started before the expiry may finish up to a day after it; the same applies to a file that replaces a
   * failed one.
   */
  function hasExpired(row: UploadRow, video: Video): boolean {
    const { uploadExpiry } = video;
    const now = clock.now();
    if ((row.finished_at !== null && !mayReopen(video)) || uploadExpiry === null || now <= uploadExpiry) return false;
    return now > uploadExpiry + DAY_MS || now - row.touched_at > ACTIVE_UPLOAD_MS;
  }

  /** Finds the upload for a URL. Throws uploadNotFound. */
  async function find(url: string): Promise<{ row: UploadRow; video: Video; secret: string }> {
    const [, uid, secret = ""] = UPLOAD_PATH.exec(url) ?? [];
    const row = uid === undefined ? undefined : await table.find(uid);
    const video = row !== undefined && isSecretOf(row, secret) ? await videos.find(row.uid) : undefined;
    if (row === undefined || video === undefined) throw streamErrors.uploadNotFound();
    return { row, video, secret };
  }

  function options(response: ServerResponse): void {
    response.writeHead(204, { ...PREFLIGHT, ...tusHeaders(settings) }).end();
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = methodOf(request);
    if (method === "OPTIONS") return options(response);
    const { row, video, secret } = await find(request.url!);
    if (method === "GET") return show(request, response, row, video);
    if (hasExpired(row, video)) throw streamErrors.uploadExpired({ at: new Date(video.uploadExpiry!).toISOString() });
    if (method === "POST") return handlePost(request, response, row, secret);
    if (method !== "HEAD" && method !== "PATCH" && method !== "DELETE")
      return void response.writeHead(405, { ...CORS, allow: METHODS }).end();
    checkTusHeaders(request.headers);
    if (row.length === null) throw streamErrors.uploadNotFound();
    if (method === "PATCH") checkPatch(request, row, row.length);
    if (row.finished_at === null && video.uploadExpiry !== null)
      response.setHeader("upload-expires", new Date(video.uploadExpiry).toUTCString());
    if (method === "HEAD" && row.metadata !== null && row.metadata !== "")
      response.setHeader("upload-metadata", row.metadata);
    response.setHeader("stream-media-id", row.uid);
    return tus(request, response, { method, video });
  }

  async function show(request: IncomingMessage, response: ServerResponse, row: UploadRow, video: Video): Promise<void> {
    const { maxSizeBytes, maxDurationSeconds, requireSignedURLs } = video;
    const uploadStatus: UploadPageConfig = {
      ...progressOf(row, video, hasExpired(row, video)),
      maxBytes: Math.min(maxSizeBytes ?? Infinity, maxBytes),
      ...(settings.chunk_mb > 0 && { chunkBytes: settings.chunk_mb * 1024 * 1024 }),
      ...(maxDurationSeconds !== null && { maxDurationSeconds }),
      ...(!requireSignedURLs && { watch: urls.of(video).watch }),
    };
    if (request.headers.accept?.includes("application/json") === true)
      return sendJson(response, 200, uploadStatus, { ...CORS, "cache-control": "no-store" });
    if (page !== undefined) return page(request, response, uploadStatus);
    response
      .writeHead(200, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" })
      .end(`${STATES[uploadStatus.state]}\n`);
  }

  async function handlePost(
    request: IncomingMessage,
    response: ServerResponse,
    row: UploadRow,
    secret: string,
  ): Promise<void> {
    if (request.headers["tus-resumable"] === undefined) {
      const { uid } = await forms.uploadToUrl(row, request);
      return sendJson(response, 200, { result: { uid }, success: true, errors: [], messages: [] });
    }
    const headers = await creations.begin(row, secret, {
      headers: request.headers,
      ...(hasUploadBody(request) && { body: receivedBody(request) }),
    });
    // The requested URL, regardless of which host name of this server it contains.
    response
      .writeHead(201, { ...CORS, ...headers, location: request.url!.replace(/\?.*$/, ""), "content-length": "0" })
      .end();
  }

  /** Anyone with the URL may upload; a completed upload is not replaced. */
  function checkPatch({ headers }: IncomingMessage, row: UploadRow, length: number): void {
    if (row.finished_at !== null) throw streamErrors.alreadyUploaded({ uid: row.uid });
    const contentLength = headers["content-length"];
    const offset = Number(headers["upload-offset"]);
    if (Number.isSafeInteger(offset))
      checkChunk({
        offset,
        octets: contentLength === undefined ? undefined : Number(contentLength),
        length: length === DEFERRED_LENGTH ? declaredLength(headers) : length,
        max: settings.chunk_mb * 1024 * 1024,
      });
  }

  return async (request, response) => {
    try {
      await serve(request, response);
    } catch (err) {
      if (response.headersSent) return void response.destroy();
      if (!(err instanceof UserError)) log.error({ err }, "stream: upload failed");
      else if (isStoreError(err) && err.entry.http >= 500) log.error({ err }, "stream: upload failed");
      sendError(request, response, err instanceof UserError ? err : undefined);
    }
  };
}

const STATES = {
  open: "Upload one video here: POST a form with a part named file, or use a TUS client.",
  processing: "The file has been uploaded and is being processed.",
  ready: "The video has been uploaded.",
  failed: "The file could not be used.",
  expired: "This upload URL has expired. Ask for another one.",
};

function progressOf(
  row: UploadRow,
  video: Video,
  isExpired: boolean,
): Pick<UploadPageConfig, "state" | "pctComplete" | "playable" | "problem"> {
  if (video.state === "error") {
    const { code, text } = video.errorReason ?? { code: "ERR_UNKNOWN", text: "" };
    return { state: "failed", problem: { code, text, retry: mayReopen(video) && !isExpired } };
  }
  if (video.state === "pendingupload" && row.finished_at === null) return { state: isExpired ? "expired" : "open" };
  return {
    state: video.state === "ready" ? "ready" : "processing",
    pctComplete: Math.floor(video.pctComplete),
    playable: video.readyToStream,
  };
}

/** Returns the value of the Upload-Length header in the chunk that declares a deferred length. */
function declaredLength(headers: IncomingMessage["headers"]): number | undefined {
  const length = Number(headers["upload-length"] ?? NaN);
  return Number.isSafeInteger(length) ? length : undefined;
}

/** TUS 1.0.0, Requests: for clients whose environment lacks PATCH and DELETE. */
function methodOf(request: IncomingMessage): string {
  const methodOverride = request.headers["x-http-method-override"];
  if (request.method === "POST" && typeof methodOverride === "string") request.method = methodOverride.toUpperCase();
  return request.method!;
}

/** Returns true if a creation includes upload data (TUS 1.0.0): it then declares the type of its body. */
export const hasUploadBody = ({ headers }: IncomingMessage): boolean => headers["content-type"] === UPLOAD_DATA;

/** Sends the error as plain text to TUS clients, and in the API envelope to others. */
function sendError(request: IncomingMessage, response: ServerResponse, error: UserError | undefined): void {
  const status = error?.entry.http ?? 500;
  const message = error === undefined ? "Internal error. See the server log." : userErrorText(error);
  const headers = { ...CORS, "cache-control": "no-store", ...(status === 409 && { "x-should-retry": "false" }) };
  void discardBody(request);
  if (request.headers["tus-resumable"] === undefined && request.method === "POST") {
    return sendJson(
      response,
      status,
      { result: null, success: false, errors: [{ code: Number(error?.code) || 10001, message }], messages: [] },
      headers,
    );
  }
  const text = Buffer.from(`${message}\n`);
  response
    .writeHead(status, {
      ...headers,
      "content-type": "text/plain; charset=utf-8",
      "content-length": text.length,
      "tus-resumable": "1.0.0",
      ...(status === 412 && { "tus-version": "1.0.0" }),
    })
    .end(request.method === "HEAD" ? undefined : text);
}

function sendJson(
  response: ServerResponse,
  status: number,
  envelope: unknown,
  headers: Record<string, string> = CORS,
): void {
  const text = Buffer.from(JSON.stringify(envelope));
  response
    .writeHead(status, { ...headers, "content-type": "application/json", "content-length": text.length })
    .end(text);
}
