import type { UploadPageConfig } from "../../src/stream/player/upload-config.ts";

const FIRST_MS = 500;
const MAX_MS = 5000;

/** Polls the state of the upload URL while `show` returns true. Retries after connection errors. */
export function followUpload(address: string, show: (state: UploadPageConfig) => boolean): void {
  let delay = FIRST_MS;
  void poll();

  async function poll(): Promise<void> {
    const state = await readState(address);
    if (state !== undefined && !show(state)) return;
    setTimeout(() => void poll(), delay);
    delay = Math.min(delay * 1.2, MAX_MS);
  }
}

async function readState(address: string): Promise<UploadPageConfig | undefined> {
  try {
    const response = await fetch(address, { headers: { accept: "application/json" }, cache: "no-store" });
    // The video has been deleted, or the upload finished long ago: stop polling.
    if (response.status === 404 || response.status === 410) return { state: "expired" };
    return response.ok ? ((await response.json()) as UploadPageConfig) : undefined;
  } catch {
    return undefined;
  }
}
