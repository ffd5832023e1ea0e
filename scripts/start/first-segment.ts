import { setTimeout as sleep } from "node:timers/promises";

interface FirstSegment {
  /** `640x360` */
  size: string;
  /** True if the segment was cut from the uploaded file; false if it was encoded. */
  asSent: boolean;
  octets: number;
  /** Arrival time of the segment's last byte, by `performance.now()`. */
  at: number;
}

const PATIENCE_MS = 60_000;
const POLL_MS = 25;

/**
 * Polls the HLS manifest until it exists, then fetches the first segment of its first rendition, as a player does. If
 * that is the uploaded file itself, also fetches the first encoded segment.
 */
export async function firstSegments(manifest: string): Promise<FirstSegment[]> {
  const variants = variantsOf(await manifestWhenReady(manifest));
  const begun = variants[0]!.asSent ? variants.slice(0, 2) : variants.slice(0, 1);
  return Promise.all(begun.map(({ uri, ...variant }) => fetchFirst(new URL(uri, manifest), variant)));
}

interface Variant extends Pick<FirstSegment, "size" | "asSent"> {
  uri: string;
}

function variantsOf(manifest: string): Variant[] {
  const found = [...manifest.matchAll(/^#EXT-X-STREAM-INF:.*RESOLUTION=(\d+x\d+).*\n(.+)$/gm)];
  if (found.length === 0) throw new Error(`the manifest names no rendition:\n${manifest}`);
  return found.map(([, size, uri]) => ({ size: size!, uri: uri!, asSent: uri!.startsWith("source.") }));
}

async function fetchFirst(playlist: URL, variant: Pick<FirstSegment, "size" | "asSent">): Promise<FirstSegment> {
  const media = await (await ask(playlist)).text();
  const init = /^#EXT-X-MAP:.*URI="([^"]+)"/m.exec(media)?.[1];
  const segment = /^[^#\s].*$/m.exec(media)?.[0];
  if (init === undefined || segment === undefined) throw new Error(`${playlist} names no segment:\n${media}`);
  const pieces = await Promise.all(
    [init, segment].map(async (uri) => (await ask(new URL(uri, playlist))).arrayBuffer()),
  );
  return { ...variant, octets: pieces.reduce((sum, { byteLength }) => sum + byteLength, 0), at: performance.now() };
}

async function manifestWhenReady(url: string): Promise<string> {
  for (const started = Date.now(); Date.now() - started < PATIENCE_MS; await sleep(POLL_MS)) {
    const response = await fetch(url);
    const body = await response.text();
    if (response.ok) return body;
    // 424 is final; other errors may be temporary.
    if (response.status === 424) throw new Error(`the video cannot be played: ${body}`);
  }
  throw new Error(`${url} was not there after ${PATIENCE_MS / 1000} s`);
}

async function ask(url: URL): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  return response;
}
