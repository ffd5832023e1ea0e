import { useSyncExternalStore } from "react";
import type { PreviousUpload, Upload } from "tus-js-client";
import { appInfo } from "../../../api/app-info.ts";
import { apiUrl, authorization } from "../../../api/client.ts";
import { errorOfResponse } from "../../../api/errors.ts";
import { queryClient } from "../../../api/query-client.ts";
import { streamKeys } from "../queries.ts";
import { firstChunkBytes, nextChunkBytes } from "./chunk-size.ts";

export interface VideoUpload {
  id: number;
  account: string;
  name: string;
  size: number;
  /** Bytes sent, including those of the current chunk. */
  sent: number;
  /** Bytes per second since the upload was started or resumed; 0 while unknown. */
  speed: number;
  state: "waiting" | "sending" | "paused" | "failed" | "done";
  error?: string;
  /** ID of the video, once it exists. */
  uid?: string;
}

/** An upload of an earlier visit: the browser has its URL, but needs the file again. */
interface UnfinishedUpload {
  key: string;
  url: string;
  name: string;
  size: number;
}

const RETRY_MS = [0, 1000, 3000, 5000, 10_000, 20_000];
const MAX_PARALLEL = 2;

interface Run {
  file: File;
  upload?: Upload;
  startedAt: number;
  startedFrom: number;
  /** Start time of the current chunk, to measure its duration. */
  chunkStartedAt: number;
}

// Uploads continue while other pages of the dashboard are shown.
let uploads: readonly VideoUpload[] = [];
const runs = new Map<number, Run>();
const listeners = new Set<() => void>();
let nextId = 0;

export const useUploads = (account: string): readonly VideoUpload[] => {
  const all = useSyncExternalStore(subscribe, () => uploads);
  return all.filter((upload) => upload.account === account);
};

/** Uploads the files, at most two at a time. A file whose upload was interrupted continues where it stopped. */
export function addUploads(account: string, files: readonly File[]): void {
  for (const file of files) {
    const id = nextId++;
    runs.set(id, { file, startedAt: 0, startedFrom: 0, chunkStartedAt: 0 });
    update([...uploads, { id, account, name: file.name, size: file.size, sent: 0, speed: 0, state: "waiting" }]);
  }
  startNext();
}

export function pauseUpload(id: number): void {
  void runs.get(id)?.upload?.abort();
  change(id, { state: "paused", speed: 0 });
  startNext();
}

/** Continues a paused or failed upload. */
export function resumeUpload(id: number): void {
  change(id, { state: "waiting" });
  startNext();
}

/** Cancels an upload and deletes its partial data on the server, or removes a finished upload from the list. */
export function dismissUpload(id: number): void {
  const state = uploads.find((upload) => upload.id === id)?.state;
  if (state !== "done")
    void runs
      .get(id)
      ?.upload?.abort(true)
      .catch(() => {});
  runs.delete(id);
  update(uploads.filter((upload) => upload.id !== id));
  startNext();
}

export async function unfinishedUploads(account: string): Promise<UnfinishedUpload[]> {
  const { defaultOptions } = await import("tus-js-client");
  const stored = (await defaultOptions.urlStorage!.findAllUploads()) as (PreviousUpload & { uploadUrl?: string })[];
  return stored.flatMap(({ urlStorageKey: key, uploadUrl, metadata, size }) =>
    // The key contains the URL at which the upload was created, and with it the account.
    uploadUrl === undefined || !key.includes(account)
      ? []
      : [{ key, url: uploadUrl, name: metadata["name"] ?? "", size: size ?? 0 }],
  );
}

/** Deletes the partial data of an unfinished upload from the server. */
export async function discardUpload({ key, url }: UnfinishedUpload): Promise<void> {
  const { defaultOptions } = await import("tus-js-client");
  await fetch(url, { method: "DELETE", headers: { "tus-resumable": "1.0.0" } }).catch(() => undefined);
  await defaultOptions.urlStorage!.removeUpload(key);
}

function startNext(): void {
  for (const { id } of uploads.filter(({ state }) => state === "waiting")) {
    if (uploads.filter(({ state }) => state === "sending").length >= MAX_PARALLEL) return;
    change(id, { state: "sending" });
    void start(id);
  }
}

async function start(id: number): Promise<void> {
  const run = runs.get(id);
  const entry = uploads.find((upload) => upload.id === id);
  if (run === undefined || entry === undefined) return;
  run.startedAt = performance.now();
  run.chunkStartedAt = run.startedAt;
  run.startedFrom = -1;
  if (run.upload === undefined) {
    const upload = await createUpload(id, run.file, entry.account);
    const [previous] = await upload.findPreviousUploads();
    if (previous !== undefined) upload.resumeFromPreviousUpload(previous);
    run.upload = upload;
  }
  // Paused or removed in the meantime.
  if (uploads.find((upload) => upload.id === id)?.state === "sending") run.upload.start();
}

async function createUpload(id: number, file: File, account: string): Promise<Upload> {
  const { Upload: TusUpload } = await import("tus-js-client");
  const endpoint = new URL(apiUrl("/accounts/{account_id}/stream", { account_id: account }), location.origin).href;
  const upload: Upload = new TusUpload(file, {
    endpoint,
    // An interrupted chunk continues at the last byte that arrived.
    chunkSize: firstChunkBytes(appInfo().chunkBytes),
    retryDelays: RETRY_MS,
    metadata: { name: file.name, filetype: file.type },
    removeFingerprintOnSuccess: true,
    onBeforeRequest(request) {
      // The URL of an upload is its own credential, and may be on another host.
      if (request.getURL() !== endpoint) return;
      for (const [name, value] of Object.entries(authorization())) request.setHeader(name, value);
    },
    onChunkComplete(bytes) {
      const run = runs.get(id);
      if (run === undefined) return;
      const now = performance.now();
      upload.options.chunkSize = nextChunkBytes(bytes, (now - run.chunkStartedAt) / 1000, appInfo().chunkBytes);
      run.chunkStartedAt = now;
    },
    onAfterResponse(_request, response) {
      const uid = response.getHeader("stream-media-id");
      if (uid) change(id, { uid });
    },
    onProgress(sent) {
      const run = runs.get(id);
      if (run === undefined) return;
      if (run.startedFrom < 0) run.startedFrom = sent;
      const seconds = (performance.now() - run.startedAt) / 1000;
      change(id, { sent, speed: seconds < 1 ? 0 : (sent - run.startedFrom) / seconds });
    },
    onSuccess() {
      change(id, { state: "done", sent: file.size, speed: 0 });
      void queryClient.invalidateQueries({ queryKey: streamKeys.videos(account) });
      startNext();
    },
    onError(error) {
      change(id, { state: "failed", speed: 0, error: textOf(error) });
      startNext();
    },
  });
  return upload;
}

/** Returns the text of the server's error, if it responded. */
function textOf(error: Error): string {
  const { originalResponse: response } = error as {
    originalResponse?: { getStatus(): number; getBody(): string } | null;
  };
  if (!response) return "The connection was lost. Resume the upload.";
  const body = response.getBody();
  try {
    return errorOfResponse(response.getStatus(), JSON.parse(body)).message;
  } catch {
    return body === "" ? `The server returned status ${response.getStatus()}. Retry the upload.` : body;
  }
}

function change(id: number, more: Partial<VideoUpload>): void {
  update(uploads.map((upload) => (upload.id === id ? { ...upload, ...more } : upload)));
}

function update(changed: readonly VideoUpload[]): void {
  uploads = changed;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
