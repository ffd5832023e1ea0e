import type { PlayerVideo } from "../../src/stream/player/page-config.ts";

export interface Waiting {
  /** Nothing is heard of it afterwards. */
  stop(): void;
}

const FIRST_MS = 1000;
const LONGEST_MS = 10_000;
/** A broadcast is waited for by people who are there, and begins at a moment that counts. */
const LONGEST_LIVE_MS = 3000;

/** Asks for a video's state until it plays, or never will. `gone`: it may not be seen any more, with the HTTP status. */
export function waitUntilReady(
  address: string,
  first: PlayerVideo,
  on: { change(video: PlayerVideo): void; ready(video: PlayerVideo): void; gone(status: number): void },
): Waiting {
  const abort = new AbortController();
  let delay = FIRST_MS;
  let timer = setTimeout(ask, delay);
  let last = JSON.stringify(first);

  async function ask(): Promise<void> {
    const video = await readVideo(address, abort.signal).catch((err: unknown) =>
      err instanceof VideoUnavailable ? err.status : undefined,
    );
    if (abort.signal.aborted) return;
    if (typeof video === "number") {
      if (video < 500 && video !== 429) return on.gone(video);
      timer = setTimeout(ask, LONGEST_MS);
      return;
    }
    if (video?.readyToStream === true) return on.ready(video);
    const now = JSON.stringify(video);
    // Whoever waits for an upload may wait for hours; while something moves it is asked often.
    const longest = (video ?? first).live === null ? LONGEST_MS : LONGEST_LIVE_MS;
    delay = now === last ? Math.min(delay * 1.3, longest) : FIRST_MS;
    last = now;
    if (video !== undefined) on.change(video);
    // Not all at the same moment: thousands may have opened the page by the same link.
    if (video?.state !== "error") timer = setTimeout(ask, delay * (0.8 + 0.4 * Math.random()));
  }

  return {
    stop() {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

/** `address` of `/{id}/metadata/player.json`. Rejects with VideoUnavailable. */
export async function readVideo(address: string, signal?: AbortSignal): Promise<PlayerVideo> {
  const response = await fetch(address, { cache: "no-store", ...(signal && { signal }) });
  if (!response.ok) throw new VideoUnavailable(response.status);
  return (await response.json()) as PlayerVideo;
}

export class VideoUnavailable extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The video answered ${status}`);
    this.status = status;
  }
}
