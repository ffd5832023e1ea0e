/** Media playlists of draft-pantos-hls-rfc8216bis, as far as the checker needs them. */

interface Part {
  uri: string;
  duration: number;
  independent: boolean;
}

export interface Segment {
  n: number;
  uri: string | undefined;
  duration: number;
  discontinuity: number;
  init: string;
  /** EXT-X-PROGRAM-DATE-TIME in epoch milliseconds. */
  at: number | undefined;
  gap: boolean;
  parts: Part[];
}

export interface Playlist {
  target: number;
  partTarget: number;
  control: Record<string, string>;
  sequence: number;
  ended: boolean;
  /** The last segment may be incomplete, without a URI. */
  segments: Segment[];
  hint: string | undefined;
  reports: Record<string, string>[];
}

/** Returns the attributes of a tag (4.2), without quotes. */
export const attributesOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^",]+))/g)].map(([, name, quoted, plain]) => [
      name!,
      quoted ?? plain!,
    ]),
  );

/** True if the playlist has the part. */
export function reaches({ segments }: Playlist, { n, part }: { n: number; part: number }): boolean {
  const last = segments.at(-1)!;
  if (last.n !== n) return last.n > n;
  return last.uri !== undefined || last.parts.length > part;
}

/** Parses a media playlist. `base` is the URL of the playlist. */
export function readPlaylist(text: string, base: string): Playlist {
  const playlist: Playlist = {
    target: Number.NaN,
    partTarget: Number.NaN,
    control: {},
    sequence: 0,
    ended: false,
    segments: [],
    hint: undefined,
    reports: [],
  };
  const resolved = (uri: string) => new URL(uri, base).href;
  let discontinuity = 0;
  let init = "";
  const fresh = (): Segment => ({
    n: 0,
    uri: undefined,
    duration: 0,
    discontinuity,
    init,
    at: undefined,
    gap: false,
    parts: [],
  });
  let next = fresh();
  const push = (uri: string | undefined) => {
    playlist.segments.push({ ...next, uri, n: playlist.sequence + playlist.segments.length, discontinuity, init });
    next = fresh();
  };
  for (const line of text.split("\n")) {
    const [, tag = "", value = ""] = /^#(EXT[A-Z0-9-]*):?(.*)$/.exec(line) ?? [];
    if (tag === "EXT-X-TARGETDURATION") playlist.target = Number(value);
    else if (tag === "EXT-X-PART-INF") playlist.partTarget = Number(attributesOf(value)["PART-TARGET"]);
    else if (tag === "EXT-X-SERVER-CONTROL") playlist.control = attributesOf(value);
    else if (tag === "EXT-X-MEDIA-SEQUENCE") playlist.sequence = Number(value);
    else if (tag === "EXT-X-DISCONTINUITY-SEQUENCE") discontinuity = Number(value);
    else if (tag === "EXT-X-DISCONTINUITY") discontinuity++;
    else if (tag === "EXT-X-MAP") init = resolved(attributesOf(value)["URI"]!);
    else if (tag === "EXT-X-PROGRAM-DATE-TIME") next.at = Date.parse(value);
    else if (tag === "EXT-X-GAP") next.gap = true;
    else if (tag === "EXT-X-PART")
      next.parts.push({
        uri: resolved(attributesOf(value)["URI"]!),
        duration: Number(attributesOf(value)["DURATION"]),
        independent: attributesOf(value)["INDEPENDENT"] === "YES",
      });
    else if (tag === "EXTINF") next.duration = Number.parseFloat(value);
    else if (tag === "EXT-X-PRELOAD-HINT") playlist.hint = resolved(attributesOf(value)["URI"]!);
    else if (tag === "EXT-X-RENDITION-REPORT") playlist.reports.push(attributesOf(value));
    else if (tag === "EXT-X-ENDLIST") playlist.ended = true;
    else if (line !== "" && !line.startsWith("#")) push(resolved(line));
  }
  if (next.parts.length > 0) push(undefined);
  return playlist;
}
