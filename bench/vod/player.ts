import { setTimeout as sleep } from "node:timers/promises";

/** The data a player fetches before it shows the first frame and plays the first audio. */
interface PlaybackStart {
  /** Name of the first variant, with which players start. */
  variant: string;
  /** Arrival time of the last byte, by performance.now(). */
  at: number;
}

const POLL_MS = 10;
const PATIENCE_MS = 120_000;

/**
 * Polls the manifest until it exists, then fetches the first entries it lists: initialization and first segment of
 * video and audio.
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
  const playlists = [variant, ...(audio === undefined ? [] : [/URI="([^"]+)"/.exec(audio)![1]!])];
  await Promise.all(playlists.map((playlist) => takeFirst(new URL(playlist, manifest))));
  return { variant: variant.replace(".m3u8", ""), at: performance.now() };
}

async function takeFirst(playlist: URL): Promise<void> {
  const lines = (await (await fetch(playlist)).text()).split("\n");
  const init = /URI="([^"]+)"/.exec(lines.find((line) => line.startsWith("#EXT-X-MAP:"))!)![1]!;
  const segment = lines.find((line) => line !== "" && !line.startsWith("#"))!;
  await Promise.all([init, segment].map((path) => take(new URL(path, playlist))));
}

/** Resolves with the number of bytes received. */
export async function take(url: URL | string): Promise<number> {
  const response = await fetch(url);
  const octets = (await response.arrayBuffer()).byteLength;
  if (!response.ok || octets < 100) throw new Error(`${String(url)} returned ${response.status} and ${octets} octets`);
  return octets;
}
