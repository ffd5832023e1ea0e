import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** The test controls the number of connections. */
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

interface Got {
  status: number;
  body: Buffer;
  ms: number;
}

export function get(url: string, signal?: AbortSignal): Promise<Got> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    request(url, { agent, ...(signal && { signal }) }, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode!, body, ms: performance.now() - began }),
        reject,
      );
    })
      .on("error", reject)
      .end();
  });
}

async function list(url: string): Promise<string> {
  const { status, body } = await get(url);
  assert.equal(status, 200, `${url}: ${body.toString().slice(0, 300)}`);
  return body.toString();
}

const addresses = (playlist: string, base: string) =>
  playlist
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => new URL(line, base).href);

/**
 * Resolves with the segments of a video by rendition, as listed in its HLS playlists; `id` is a uid or a token.
 * Initialization segments come first.
 */
export async function segmentsOf(url: string, id: string): Promise<Map<string, string[]>> {
  const main = `${url}/${id}/manifest/video.m3u8`;
  const text = await list(main);
  const media = [
    ...addresses(text, main),
    ...[...text.matchAll(/#EXT-X-MEDIA:.*TYPE=AUDIO.*URI="([^"]+)"/g)].map(([, uri]) => new URL(uri!, main).href),
  ];
  const found = new Map<string, string[]>();
  for (const address of new Set(media)) {
    const playlist = await list(address);
    const init = /#EXT-X-MAP:URI="([^"]+)"/.exec(playlist)![1]!;
    found.set(/manifest\/([^/]+)\.m3u8/.exec(address)![1]!, [
      new URL(init, address).href,
      ...addresses(playlist, address),
    ]);
  }
  return found;
}

export interface Viewer {
  /** Stops the viewer. Rejects if any of its requests failed. */
  stop(): Promise<{ requests: number; slowestMs: number; abortedResponses: number }>;
}

interface WatchingOptions {
  pauseMs?: number;
  /**
   * True for a video that several processes encode: a response that has begun is aborted if another process stores
   * other octets of the segment, and players request it again. The stored octets never change, so a second abort of the
   * same segment rejects. Default: no response may be aborted.
   */
  mayAbortOnce?: boolean;
}

/** Returns a viewer that watches a video repeatedly from its manifest to its last segment, in all renditions. */
export function continueWatching(
  url: string,
  id: string,
  { pauseMs = 20, mayAbortOnce = false }: WatchingOptions = {},
): Viewer {
  const stopping = new AbortController();
  const figures = { requests: 0, slowestMs: 0, abortedResponses: 0 };
  const abortedSegments = new Set<string>();

  async function getSegment(segment: string): Promise<Got> {
    try {
      return await get(segment);
    } catch (err) {
      const isAborted = err instanceof Error && err.message === "aborted";
      if (!isAborted || !mayAbortOnce || abortedSegments.has(segment)) throw err;
      abortedSegments.add(segment);
      figures.abortedResponses = abortedSegments.size;
      return getSegment(segment);
    }
  }

  async function watch() {
    while (!stopping.signal.aborted) {
      for (const segments of (await segmentsOf(url, id)).values()) {
        for (const segment of segments) {
          if (stopping.signal.aborted) return;
          const { status, body, ms } = await getSegment(segment);
          assert.equal(status, 200, `${segment}: ${status === 200 ? "" : body.toString().slice(0, 300)}`);
          figures.requests++;
          figures.slowestMs = Math.max(figures.slowestMs, Math.round(ms));
          await sleep(pauseMs);
        }
      }
    }
  }
  const watching = watch();
  watching.catch(() => {});
  return {
    async stop() {
      stopping.abort();
      await watching;
      return figures;
    },
  };
}
