import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../kernel/index.ts";
import { formatSize, oneLine } from "../../kernel/text.ts";
import type { ApiClient } from "../api/client.ts";
import { connectionErrors } from "../api/errors.ts";
import { commandErrors } from "../errors.ts";
import { videoErrors } from "./errors.ts";
import { readBodyStart } from "./short-text.ts";

/** A started upload. Its URL is the credential to resume it. */
interface TusUpload {
  address: string;
  uid: string;
}

interface TusCreation {
  /** Maximum size in bytes. */
  size: number;
  /** `true`: a key without a value. */
  metadata: Record<string, string | true>;
  creator?: string | undefined;
}

const VERSION = { "tus-resumable": "1.0.0" };

/** TUS 1.0.0, Creation. */
export async function createUpload(
  api: ApiClient,
  path: string,
  { size, metadata, creator }: TusCreation,
): Promise<TusUpload> {
  const pairs = Object.entries(metadata).map(([key, value]) =>
    value === true ? key : `${key} ${Buffer.from(value).toString("base64")}`,
  );
  const headers = {
    ...VERSION,
    "upload-length": String(size),
    "upload-metadata": pairs.join(","),
    ...(creator !== undefined && { "upload-creator": creator }),
  };
  const response = await api.raw("POST", path, { headers });
  await response.body?.cancel();
  const [location, uid] = [response.headers.get("location"), response.headers.get("stream-media-id")];
  const address = location === null ? null : URL.parse(location, response.url);
  if (address === null || uid === null)
    throw connectionErrors.notTheApi({
      what: `POST ${path}`,
      status: response.status,
      text: "the response has no Location or no Stream-Media-Id",
    });
  return { address: address.href, uid };
}

export interface TusSending {
  address: string;
  /** The file's path. */
  file: string;
  /** The file name shown in errors. */
  displayName: string;
  size: number;
  /** True if earlier attempts may have sent some of the file. */
  resume: boolean;
  signal: AbortSignal;
  /** Called with the number of bytes sent; decreases if some did not arrive. */
  onOffset: (octets: number) => void;
  onPause?: (reason: string, seconds: number) => void;
  /** A multiple of 256 KiB, at least 5 MiB. Default 50 MiB. */
  chunk?: number;
  /** Waits for the given time; replaced in tests. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const CHUNK_BYTES = 50 * 1024 * 1024;
/** Consecutive failed attempts before giving up: about two minutes. */
const MAX_FAILURES = 10;
const MAX_PAUSE_MS = 30_000;
/** Maximum time without progress. The last octets of a request count as received only when they are on disk. */
const STALLED_MS = 120_000;
/** Error statuses that may be resolved by querying the offset and retrying. */
const RETRYABLE_STATUSES = new Set([408, 409, 423, 425, 429]);

/** A request failure that a retry may fix. */
class Interruption extends Error {}

/**
 * Sends the missing data in chunks (TUS 1.0.0, HEAD and PATCH), and resumes after connection failures. Throws stopped,
 * uploadRefused, otherFile.
 */
export async function sendUpload(sending: TusSending): Promise<void> {
  const {
    address,
    displayName,
    size,
    signal,
    onOffset,
    onPause = () => {},
    pause = (ms, aborted) => sleep(ms, undefined, { signal: aborted }),
  } = sending;
  const stopped = (reason: string, cause?: unknown) =>
    videoErrors.stopped(
      { offset: formatSize(confirmedOffset), size: formatSize(size), reason, file: shellWord(displayName), address },
      { cause },
    );
  let offset = sending.resume ? undefined : 0;
  let [confirmedOffset, failures] = [0, 0];
  while (offset !== size) {
    try {
      const next: number = offset === undefined ? await askOffset(sending) : await sendChunk(sending, offset);
      if (offset !== undefined && next <= offset) throw new Interruption("the server received no data");
      if (next > confirmedOffset) [confirmedOffset, failures] = [next, 0];
      offset = next;
      onOffset(offset);
    } catch (thrown) {
      if (signal.aborted) throw stopped("it was interrupted", thrown);
      if (!(thrown instanceof Interruption)) throw thrown;
      if (++failures > MAX_FAILURES) throw stopped(thrown.message, thrown);
      const ms = Math.min(MAX_PAUSE_MS, 250 * 2 ** failures);
      onPause(thrown.message, ms / 1000);
      await pause(ms, signal).catch((cause: unknown) => {
        throw stopped("it was interrupted", cause);
      });
      offset = undefined;
    }
  }
}

/** Queries the number of bytes received. */
async function askOffset({ address, displayName, size, signal }: TusSending): Promise<number> {
  const response = await fetch(address, {
    method: "HEAD",
    headers: VERSION,
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(STALLED_MS)]),
  }).catch(throwInterruption);
  const offset = await offsetOf(response);
  const length = response.headers.get("upload-length");
  if (length === null)
    throw videoErrors.uploadRefused({ status: response.status, reason: "the response has no Upload-Length" });
  if (Number(length) !== size || offset > size) throw videoErrors.otherFile({ length, file: displayName, size });
  return offset;
}

async function sendChunk(
  { address, file, displayName, size, signal, onOffset, chunk = CHUNK_BYTES }: TusSending,
  offset: number,
): Promise<number> {
  const length = Math.min(chunk, size - offset);
  const stallController = new AbortController();
  const stallTimer = setTimeout(
    () => stallController.abort(new Interruption(`no progress for ${STALLED_MS / 1000} seconds`)),
    STALLED_MS,
  ).unref();
  let readError: Error | undefined;

  async function* body(): AsyncGenerator<Uint8Array> {
    let sentBytes = 0;
    try {
      for await (const piece of createReadStream(file, {
        start: offset,
        end: offset + length - 1,
        highWaterMark: 1024 * 1024,
      }) as AsyncIterable<Buffer>) {
        yield piece;
        sentBytes += piece.length;
        onOffset(offset + sentBytes);
        stallTimer.refresh();
      }
      if (sentBytes < length) throw new Error("the file was truncated");
    } catch (cause) {
      readError = commandErrors.fileUnreadable({ file: displayName, reason: messageOf(cause) }, { cause });
      throw readError;
    }
  }

  try {
    const response = await fetch(address, {
      method: "PATCH",
      redirect: "error",
      duplex: "half",
      body: body() as unknown as NonNullable<RequestInit["body"]>,
      signal: AbortSignal.any([signal, stallController.signal]),
      headers: {
        ...VERSION,
        "upload-offset": String(offset),
        "content-type": "application/offset+octet-stream",
        "content-length": String(length),
      },
    }).catch(throwInterruption);
    return await offsetOf(response);
  } catch (thrown) {
    throw readError ?? thrown;
  } finally {
    clearTimeout(stallTimer);
  }
}

function throwInterruption(thrown: unknown): never {
  const cause = thrown instanceof Error && thrown.message === "fetch failed" ? (thrown.cause ?? thrown) : thrown;
  throw thrown instanceof Interruption
    ? thrown
    : new Interruption(oneLine(messageOf(cause) || String((cause as { code?: unknown }).code), 200), { cause: thrown });
}

/** `Upload-Offset` of a successful response. */
async function offsetOf(response: Response): Promise<number> {
  const { status, ok } = response;
  if (!ok) {
    const reason = oneLine(
      (await readBodyStart(response)) ||
        (status === 404 || status === 410 ? "the upload no longer exists" : `status ${status} without a message`),
      1000,
    );
    throw RETRYABLE_STATUSES.has(status) || status >= 500
      ? new Interruption(reason)
      : (status === 400 ? videoErrors.notMedia : videoErrors.uploadRefused)({ status, reason });
  }
  await response.body?.cancel();
  const offset = response.headers.get("upload-offset");
  if (offset === null || !/^\d{1,15}$/.test(offset))
    throw videoErrors.uploadRefused({ status, reason: "the response has no Upload-Offset" });
  return Number(offset);
}

/** Quotes a word for a command line that the user can copy. */
const shellWord = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
