import type { Paint } from "../../kernel/paint.ts";
import type { ApiConnection } from "../api/connect.ts";
import { table } from "../print.ts";
import { fetchPlaybackContent, playableUrl } from "./delivered.ts";
import { videoErrors } from "./errors.ts";
import { readBodyStart } from "./short-text.ts";
import type { ApiVideo } from "./video.ts";

/** A rendition that players can select. Bit rates in bits per second, including audio. */
export interface Rendition {
  name: string;
  width: number | null;
  height: number | null;
  framesPerSecond: number | null;
  bandwidth: number;
  codecs: string | null;
}

/** Resolves with renditions in the multivariant playlist, lowest first. */
export async function readRenditions(connection: ApiConnection, video: ApiVideo): Promise<Rendition[]> {
  const address = await playableUrl(connection, video, video.playback.hls);
  const renditions = parseRenditions(await readBodyStart(await fetchPlaybackContent(address)));
  if (renditions === undefined) throw videoErrors.badPlaylist({ address });
  return renditions.sort((a, b) => a.bandwidth - b.bandwidth);
}

/** RFC 8216 4.3.4.2: the line after each EXT-X-STREAM-INF is the URI of its playlist. */
export function parseRenditions(playlist: string): Rendition[] | undefined {
  const lines = playlist.split(/\r?\n/);
  if (lines[0] !== "#EXTM3U") return undefined;
  return lines.flatMap((line, at): Rendition[] => {
    const [, list] = /^#EXT-X-STREAM-INF:(.*)$/.exec(line) ?? [];
    if (list === undefined) return [];
    const attributes = new Map(
      Array.from(list.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^,]*))/g), ([, name, quotedValue, plain]) => [
        name!,
        quotedValue ?? plain!,
      ]),
    );
    const resolutionMatch = /^(\d+)x(\d+)$/.exec(attributes.get("RESOLUTION") ?? "");
    const rate = attributes.get("FRAME-RATE");
    return [
      {
        name: /([^/?]+)\.m3u8/.exec(lines[at + 1] ?? "")?.[1] ?? "",
        width: resolutionMatch && Number(resolutionMatch[1]),
        height: resolutionMatch && Number(resolutionMatch[2]),
        framesPerSecond: rate === undefined ? null : Number(rate),
        bandwidth: Number(attributes.get("AVERAGE-BANDWIDTH") ?? attributes.get("BANDWIDTH")),
        codecs: attributes.get("CODECS") ?? null,
      },
    ];
  });
}

export const renditionTable = (renditions: readonly Rendition[], paint: Paint): string[] =>
  table(
    ["rendition", "resolution", "frames/s", "Mbit/s", "codecs"],
    renditions.map(({ name, width, height, framesPerSecond, bandwidth, codecs }) => [
      name,
      width === null ? "" : `${width}x${height}`,
      framesPerSecond === null ? "" : Number(framesPerSecond.toFixed(3)),
      (bandwidth / 1e6).toFixed(2),
      codecs,
    ]),
    paint,
  );
