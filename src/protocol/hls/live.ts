import { type AttributeValue, attributeList } from "./attributes.ts";

/**
 * A media playlist that grows, slides, or contains discontinuities (draft-pantos-hls-rfc8216bis, 4.4).
 * Durations are in seconds. The tags of a segment do not depend on the other segments listed, so successive playlists
 * are consistent.
 */
export interface LivePlaylist {
  /** Minimum protocol version; raised if a tag requires it. Default 6. */
  version?: number;
  /** In whole seconds: no segment duration, rounded to the nearest second, exceeds it (4.4.3.1). */
  targetDuration: number;
  /** Number of the first segment, counting skipped segments. */
  mediaSequence: number;
  /** Number of discontinuities before the first segment (4.4.3.3). */
  discontinuitySequence: number;
  /** No segments will be added. `whole`: no segments have been removed from the beginning. */
  ended?: "whole" | "window";
  /** If absent, only whole segments are listed. */
  lowLatency?: LowLatency;
  /**
   * On request, the playlist can be delivered without the segments that end at least this many seconds before its end
   * (4.4.3.8).
   */
  canSkipUntil?: number;
  /** Number of leading segments omitted because the client knows them (4.4.5.2). */
  skipped?: number;
  /** Position where players start, relative to the start of the first segment (4.4.2.2). */
  start?: number;
  segments: readonly LiveHlsSegment[];
  /** Available parts of the incomplete segment after the last one. */
  open?: Omit<LiveHlsSegment, "uri" | "duration" | "gap"> & { parts: readonly HlsPart[] };
}

export interface LowLatency {
  /** Maximum part duration (4.4.3.7). */
  partTarget: number;
  /** How far players stay behind the live edge. */
  partHoldBack: number;
  holdBack: number;
  /** URL of the next part. Absent if it is unknown whether there will be one. */
  preloadHint?: string;
  /** Latest segment and part of the other renditions (4.4.5.4). */
  renditionReports?: readonly { uri: string; lastSequence: number; lastPart?: number }[];
}

export interface LiveHlsSegment {
  uri: string;
  duration: number;
  /**
   * URL of the initialization segment; written if it differs from the previous one. Absent for a gap of unknown format.
   */
  init?: string;
  /** Timestamps and formats restart. */
  discontinuity?: boolean;
  /** Epoch milliseconds. */
  at?: number;
  /** Nothing is available at its URL (4.4.4.7). */
  gap?: boolean;
  parts?: readonly HlsPart[];
}

export interface HlsPart {
  uri: string;
  duration: number;
  /** Decoding can start in this part. */
  independent: boolean;
}

export function writeLivePlaylist(playlist: LivePlaylist): string {
  const {
    targetDuration,
    mediaSequence,
    discontinuitySequence,
    ended,
    lowLatency,
    canSkipUntil,
    skipped = 0,
    start,
    segments,
    open,
  } = playlist;
  const lines = [
    "#EXTM3U",
    `#EXT-X-VERSION:${versionOf(playlist)}`,
    `#EXT-X-TARGETDURATION:${targetDuration}`,
    ...(ended === "whole" ? ["#EXT-X-PLAYLIST-TYPE:VOD"] : formatServerControl(lowLatency, canSkipUntil)),
    `#EXT-X-MEDIA-SEQUENCE:${mediaSequence}`,
    ...(discontinuitySequence > 0 ? [`#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuitySequence}`] : []),
    "#EXT-X-INDEPENDENT-SEGMENTS",
    ...(start === undefined
      ? []
      : [`#EXT-X-START:${attributeList({ "TIME-OFFSET": formatSeconds(start), PRECISE: "YES" })}`]),
    ...(skipped > 0 ? [`#EXT-X-SKIP:${attributeList({ "SKIPPED-SEGMENTS": skipped })}`] : []),
  ];
  // Tags of skipped segments still apply to the segments that follow.
  let init =
    skipped > 0 ? segments.slice(0, skipped).findLast((segment) => segment.init !== undefined)?.init : undefined;
  const formatSegmentHead = (segment: Omit<LiveHlsSegment, "uri" | "duration" | "gap">) => {
    if (segment.discontinuity === true) lines.push("#EXT-X-DISCONTINUITY");
    if (segment.init !== undefined && segment.init !== init)
      lines.push(`#EXT-X-MAP:${attributeList({ URI: { quoted: segment.init } })}`);
    init = segment.init ?? init;
    if (segment.at !== undefined) lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(segment.at).toISOString()}`);
    for (const part of segment.parts ?? []) lines.push(`#EXT-X-PART:${formatPartAttributes(part)}`);
  };
  for (const segment of segments.slice(skipped)) {
    formatSegmentHead(segment);
    if (segment.gap === true) lines.push("#EXT-X-GAP");
    lines.push(`#EXTINF:${formatSeconds(segment.duration)},`, segment.uri);
  }
  if (open !== undefined && ended === undefined) formatSegmentHead(open);
  if (ended !== undefined) lines.push("#EXT-X-ENDLIST");
  else if (lowLatency?.preloadHint !== undefined)
    lines.push(`#EXT-X-PRELOAD-HINT:${attributeList({ TYPE: "PART", URI: { quoted: lowLatency.preloadHint } })}`);
  for (const { uri, lastSequence, lastPart } of (ended === undefined && lowLatency?.renditionReports) || [])
    lines.push(
      `#EXT-X-RENDITION-REPORT:${attributeList({ URI: { quoted: uri }, "LAST-MSN": lastSequence, "LAST-PART": lastPart })}`,
    );
  return `${lines.join("\n")}\n`;
}

/** Section 8: version 8 for EXT-X-GAP, 9 for EXT-X-SKIP. */
function versionOf({ version = 6, segments, skipped = 0 }: LivePlaylist): number {
  return Math.max(version, segments.some(({ gap }) => gap === true) ? 8 : 0, skipped > 0 ? 9 : 0);
}

function formatServerControl(lowLatency: LowLatency | undefined, canSkipUntil: number | undefined): string[] {
  const control: Record<string, AttributeValue | undefined> = {
    "CAN-BLOCK-RELOAD": lowLatency && "YES",
    "CAN-SKIP-UNTIL": canSkipUntil === undefined ? undefined : formatSeconds(canSkipUntil),
    "HOLD-BACK": lowLatency && formatSeconds(lowLatency.holdBack),
    "PART-HOLD-BACK": lowLatency && formatSeconds(lowLatency.partHoldBack),
  };
  const controlList = attributeList(control);
  return [
    ...(controlList === "" ? [] : [`#EXT-X-SERVER-CONTROL:${controlList}`]),
    ...(lowLatency === undefined
      ? []
      : [`#EXT-X-PART-INF:${attributeList({ "PART-TARGET": formatSeconds(lowLatency.partTarget) })}`]),
  ];
}

const formatPartAttributes = ({ uri, duration, independent }: HlsPart) =>
  attributeList({
    DURATION: formatSeconds(duration),
    URI: { quoted: uri },
    INDEPENDENT: independent ? "YES" : undefined,
  });

/** Formats seconds with microsecond precision and at least three decimals, as older players expect. */
const formatSeconds = (value: number) => value.toFixed(6).replace(/0{1,3}$/, "");
