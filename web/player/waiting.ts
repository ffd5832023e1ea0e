import type { PlayerVideo } from "../../src/stream/player/page-config.ts";

export interface Waiting {
  /** Stops polling. No callback is called afterwards. */
  stop(): void;
}

const FIRST_MS = 1000;
const MAX_MS = 10_000;
/** Viewers of a broadcast are waiting for it to start, so it is polled more often. */
const MAX_LIVE_MS = 3000;

/** Polls a video's state until it is playable or has failed. `gone`: access was lost, with the HTTP status. */
export function waitUntilReady(
  address: string,
  first: PlayerVideo,
  on: { change(video: PlayerVideo): void; ready(video: PlayerVideo): void; gone(status: number): void },
): Waiting {
  const abort = new AbortController();
  let delay = FIRST_MS;
  let timer = setTimeout(pollVideo, delay);
  let last = JSON.stringify(first);

  async function pollVideo(): Promise<void> {
    const video = await readVideo(address, abort.signal).catch((err: unknown) =>
      err instanceof VideoUnavailable ? err.status : undefined,
    );
    if (abort.signal.aborted) return;
    if (typeof video === "number") {
      if (video < 500 && video !== 429) return on.gone(video);
      timer = setTimeout(pollVideo, MAX_MS);
      return;
    }
    if (video?.readyToStream === true) return on.ready(video);
    const now = JSON.stringify(video);
    // An upload may take hours; while its progress is changing, it is polled often.
    const maxDelay = (video ?? first).live === null ? MAX_MS : MAX_LIVE_MS;
    delay = now === last ? Math.min(delay * 1.3, maxDelay) : FIRST_MS;
    last = now;
    if (video !== undefined) on.change(video);
    // With jitter: thousands of viewers may have opened the page at the same moment.
    if (video?.state !== "error") timer = setTimeout(pollVideo, delay * (0.8 + 0.4 * Math.random()));
  }

  return {
    stop() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

/** Loads the details of a video. `address`: URL of `/{id}/metadata/player.json`. Rejects with VideoUnavailable. */
export async function readVideo(address: string, signal?: AbortSignal): Promise<PlayerVideo> {
  const response = await fetch(address, { cache: "no-store", ...(signal && { signal }) });
  if (!response.ok) throw new VideoUnavailable(response.status);
  return (await response.json()) as PlayerVideo;
}

export class VideoUnavailable extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The server responded with status ${status}`);
    this.status = status;
  }
}
