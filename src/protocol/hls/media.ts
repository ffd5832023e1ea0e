import { attributeList } from "./attributes.ts";
import { targetDurationOf } from "./bit-rates.ts";

/** A rendition that has ended, with all its segments from the beginning (RFC 8216 4.3.3). */
interface MediaPlaylist {
  /** URL of the initialization segment; absent for WebVTT. */
  init?: string;
  segments: Iterable<HlsSegment>;
}

export interface HlsSegment {
  uri: string;
  /** Seconds. */
  duration: number;
}

/** Durations are written in microseconds. */
const MICROSECONDS_PER_SECOND = 1e6;

export function writeMediaPlaylist({ init, segments }: MediaPlaylist): string {
  const list: string[] = [];
  let longestSeconds = 0;
  let end = 0;
  let reportedMicroseconds = 0;
  for (const { uri, duration } of segments) {
    longestSeconds = Math.max(longestSeconds, duration);
    end += duration;
    // Players sum the written durations: 20 seconds in three segments must not become 19.999999.
    const part = Math.round(end * MICROSECONDS_PER_SECOND) - reportedMicroseconds;
    reportedMicroseconds += part;
    list.push(`#EXTINF:${(part / MICROSECONDS_PER_SECOND).toFixed(6).replace(/0{1,3}$/, "")},\n${uri}`);
  }
  return [
    "#EXTM3U",
    "#EXT-X-VERSION:6",
    `#EXT-X-TARGETDURATION:${targetDurationOf(longestSeconds)}`,
    "#EXT-X-MEDIA-SEQUENCE:0",
    "#EXT-X-PLAYLIST-TYPE:VOD",
    "#EXT-X-INDEPENDENT-SEGMENTS",
    ...(init === undefined ? [] : [`#EXT-X-MAP:${attributeList({ URI: { quoted: init } })}`]),
    ...list,
    "#EXT-X-ENDLIST",
    "",
  ].join("\n");
}
