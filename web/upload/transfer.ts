import { DetailedError, Upload } from "tus-js-client";
import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";

export interface Transfer {
  pause(): void;
  resume(): void;
}

interface TransferEvents {
  progress(sent: number): void;
  done(): void;
  /** `rejected`: the server does not accept this file. */
  failed(text: string, rejected: boolean): void;
}

/** Bytes per request, if the server accepts that many; an interrupted upload resumes at any offset. */
const CHUNK = 50 * 1024 * 1024;
const RETRY_MS = [0, 1000, 3000, 5000, 10_000, 20_000, 30_000];

/** Uploads `file` to `address`, a one-time upload URL; skips the bytes that the server already has. */
export async function startTransfer(
  address: string,
  file: File,
  { chunkBytes = CHUNK }: Pick<UploadPageConfig, "chunkBytes">,
  events: TransferEvents,
): Promise<Transfer> {
  const isResumable = await hasBegun(address, file);
  const upload = new Upload(file, {
    ...(isResumable ? { uploadUrl: address } : { endpoint: address }),
    chunkSize: Math.min(CHUNK, chunkBytes),
    retryDelays: RETRY_MS,
    metadata: { ...markOf(file), filetype: file.type },
    // The URL itself identifies the upload.
    storeFingerprintForResuming: false,
    onProgress: (sent) => events.progress(sent),
    onSuccess: () => events.done(),
    onError: (err) => events.failed(messageTextOf(err), isRejected(err)),
  });
  upload.start();
  return {
    pause: () => void upload.abort().catch(() => {}),
    resume: () => upload.start(),
  };
}

/** Identifies a file in addition to its size: two recordings from a camera may have the same size. */
const markOf = (file: File) => ({ name: file.name, lastModified: String(file.lastModified) });

/** True if the upload of this file has already started at the URL. */
async function hasBegun(address: string, file: File): Promise<boolean> {
  const response = await fetch(address, {
    method: "HEAD",
    headers: { "Tus-Resumable": "1.0.0" },
    cache: "no-store",
  }).catch(() => undefined);
  if (response?.ok !== true || Number(response.headers.get("Upload-Length") ?? NaN) !== file.size) return false;
  const announcedFields = (response.headers.get("Upload-Metadata") ?? "").split(",");
  return Object.entries(markOf(file)).every(([key, value]) => announcedFields.includes(`${key} ${base64(value)}`));
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

const isRejected = (err: Error): boolean =>
  err instanceof DetailedError && [400, 413].includes(err.originalResponse?.getStatus() ?? 0);

function messageTextOf(err: Error): string {
  if (!(err instanceof DetailedError) || err.originalResponse === null || err.originalResponse === undefined)
    return "The connection was lost.";
  const body = err.originalResponse.getBody().trim();
  try {
    const { errors } = JSON.parse(body) as { errors?: { message?: string }[] };
    if (errors?.[0]?.message !== undefined) return errors[0].message;
  } catch {
    // The response is plain text.
  }
  return body !== "" && body.length < 300 && !body.startsWith("<")
    ? body
    : `The server responded with status ${err.originalResponse.getStatus()}.`;
}
