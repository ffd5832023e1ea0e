import type { SourceContext } from "../context.ts";
import { download } from "../downloads.ts";
import { signVideoUrl } from "./video-source.ts";
import type { V4Video } from "./video.ts";

/**
 * Reads the audio rendition with this name as a fragmented MP4 file: the initialization segment and all media segments
 * (RFC 8216 4.3.4.1 and 4.3.2.5). Undefined if the playlist has no such rendition.
 */
export async function readAudioRendition(
  context: SourceContext,
  video: V4Video,
  name: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const master = await signVideoUrl(
    context,
    video,
    new URL(video.preview, context.source.api.url).href.replace(/\/watch$/, "/manifest/video.m3u8"),
  );
  const what = `the HLS playlist of video ${video.uid}`;
  const rendition = audioRenditions(await (await download(master, what, context)).text()).find(
    ({ NAME }) => NAME === name,
  );
  if (rendition?.URI === undefined) return undefined;
  const playlist = new URL(rendition.URI, master).href;
  const parts: Uint8Array[] = [];
  for (const uri of segmentsOf(await (await download(playlist, what, context)).text())) {
    const response = await download(new URL(uri, playlist).href, `an audio segment of video ${video.uid}`, context);
    parts.push(new Uint8Array(await response.arrayBuffer()));
  }
  return parts.length === 0 ? undefined : new Uint8Array(Buffer.concat(parts));
}

type Attributes = Record<string, string>;

const audioRenditions = (playlist: string): Attributes[] =>
  linesOf(playlist)
    .filter((line) => line.startsWith("#EXT-X-MEDIA:"))
    .map(attributesOf)
    .filter(({ TYPE }) => TYPE === "AUDIO");

/** URIs of the initialization segment and the media segments, in order. */
function segmentsOf(playlist: string): string[] {
  const uris: string[] = [];
  for (const line of linesOf(playlist)) {
    if (line.startsWith("#EXT-X-MAP:")) uris.push(attributesOf(line)["URI"] ?? "");
    else if (line !== "" && !line.startsWith("#")) uris.push(line);
  }
  return uris;
}

const linesOf = (playlist: string) => playlist.split("\n").map((line) => line.trim());

/** RFC 8216 4.2: attribute lists. */
const attributesOf = (line: string): Attributes =>
  Object.fromEntries(
    [...line.slice(line.indexOf(":") + 1).matchAll(/([A-Z0-9-]+)=("[^"]*"|[^,]*)/g)].map(([, key, value]) => [
      key!,
      value!.replace(/^"(.*)"$/, "$1"),
    ]),
  );
