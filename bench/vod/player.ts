import { startDecoder } from "./decoder.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** A player that shows the first frame and has the first audio. */
interface PlaybackStart {
  /** Name of the first variant, with which players start. */
  variant: string;
  /** Time when the first frame was decoded and the first audio segment had arrived, by performance.now(). */
  at: number;
}

const POLL_MS = 10;
const PATIENCE_MS = 120_000;

/**
 * Polls the manifest until it exists, then fetches the first entries it lists: initialization and first segment of
 * video and audio. Decodes the video as it arrives.
 */
export async function startPlaying(url: string, uid: string): Promise<PlaybackStart> {
  const manifest = `${url}/${uid}/manifest/video.m3u8`;
  let text: string | undefined;
  for (const since = performance.now(); text === undefined; await sleep(POLL_MS)) {
    const response = await fetch(manifest);
    const body = await response.text();
    if (response.ok) text = body;
    else if (response.status === 424 || performance.now() - since > PATIENCE_MS)
      throw new Error(`the manifest request returned ${response.status}: ${body}`);
    if (text !== undefined) break;
  }
  const lines = text.split("\n");
  const stream = lines.findIndex((line) => line.startsWith("#EXT-X-STREAM-INF:"));
  const variant = lines[stream + 1]!;
  const group = /AUDIO="([^"]+)"/.exec(lines[stream]!)?.[1];
  const audio = lines.find(
    (line) =>
      line.startsWith("#EXT-X-MEDIA:TYPE=AUDIO") &&
      line.includes(`GROUP-ID="${group}"`) &&
      line.includes("DEFAULT=YES"),
  );
  const times = await Promise.all([
    firstOf(new URL(variant, manifest)).then(([init, segment]) => firstFrame(init, segment)),
    ...(audio === undefined
      ? []
      : [
          firstOf(new URL(/URI="([^"]+)"/.exec(audio)![1]!, manifest)).then(async (urls) =>
            Math.max(...(await Promise.all(urls.map(timeReceived)))),
          ),
        ]),
  ]);
  return { variant: variant.replace(".m3u8", ""), at: Math.max(...times) };
}

/** Resolves with the URLs of the initialization segment and the first segment. */
async function firstOf(playlist: URL): Promise<[init: URL, segment: URL]> {
  const lines = (await (await fetch(playlist)).text()).split("\n");
  const init = /URI="([^"]+)"/.exec(lines.find((line) => line.startsWith("#EXT-X-MAP:"))!)![1]!;
  const segment = lines.find((line) => line !== "" && !line.startsWith("#"))!;
  return [new URL(init, playlist), new URL(segment, playlist)];
}

/**
 * Resolves when the whole segment has been received, because a player reads on, with the time when its first
 * frame was decoded, by performance.now().
 */
export async function firstFrame(init: URL | string, segment: URL | string): Promise<number> {
  const decoder = startDecoder();
  try {
    const responses = [init, segment].map((url) => fetch(url));
    for (const response of responses) {
      const { ok, status, url, body } = await response;
      if (!ok) throw new Error(`${url} returned ${status}`);
      for await (const octets of body!) decoder.input.write(octets);
    }
    decoder.input.end();
    return await decoder.firstFrame;
  } finally {
    decoder.stop();
  }
}

/** Resolves with the time when the last byte was received, by performance.now(). */
export async function timeReceived(url: URL | string): Promise<number> {
  const response = await fetch(url);
  const octets = (await response.arrayBuffer()).byteLength;
  if (!response.ok || octets < 100) throw new Error(`${String(url)} returned ${response.status} and ${octets} octets`);
  return performance.now();
}
