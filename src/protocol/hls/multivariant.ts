import { attributeList } from "./attributes.ts";

/** The variants and renditions between which a player can choose (RFC 8216 4.3.4). */
interface MultivariantPlaylist {
  /** At least one variant. Many players start with the first. */
  variants: readonly HlsVariant[];
  renditions?: readonly HlsRendition[];
}

export interface HlsVariant {
  uri: string;
  /** Peak bits per second, including all renditions played with the variant. */
  bandwidth: number;
  averageBandwidth?: number;
  /** RFC 6381 codec strings, one for each format in the variant. */
  codecs: readonly string[];
  resolution?: { width: number; height: number };
  frameRate?: number;
  /** GROUP-ID of the variant's audio renditions. */
  audio?: string;
  subtitles?: string;
}

export interface HlsRendition {
  type: "AUDIO" | "SUBTITLES";
  group: string;
  /** Unique within its group; shown to viewers. */
  name: string;
  /** BCP 47 language tag. */
  language?: string;
  uri: string;
  default: boolean;
  /** True if a player may select the rendition based on the user's language. */
  autoselect: boolean;
  channels?: number;
}

/**
 * Protocol version 6 is required for EXT-X-MAP in playlists that are not I-frame-only (RFC 8216 7). URLs are written
 * unchanged.
 */
export function writeMultivariant({ variants, renditions = [] }: MultivariantPlaylist): string {
  const lines = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-INDEPENDENT-SEGMENTS"];
  for (const rendition of renditions) lines.push(`#EXT-X-MEDIA:${renditionAttributes(rendition)}`);
  for (const variant of variants) lines.push(`#EXT-X-STREAM-INF:${variantAttributes(variant)}`, variant.uri);
  return `${lines.join("\n")}\n`;
}

function renditionAttributes({
  type,
  group,
  name,
  language,
  uri,
  default: isDefault,
  autoselect,
  channels,
}: HlsRendition): string {
  return attributeList({
    TYPE: type,
    "GROUP-ID": { quoted: group },
    NAME: { quoted: name },
    LANGUAGE: language === undefined ? undefined : { quoted: language },
    DEFAULT: isDefault ? "YES" : "NO",
    // RFC 8216 4.3.4.1: must be YES if DEFAULT is YES.
    AUTOSELECT: isDefault || autoselect ? "YES" : "NO",
    FORCED: type === "SUBTITLES" ? "NO" : undefined,
    CHANNELS: channels === undefined ? undefined : { quoted: String(channels) },
    URI: { quoted: uri },
  });
}

function variantAttributes({
  bandwidth,
  averageBandwidth,
  codecs,
  resolution,
  frameRate,
  audio,
  subtitles,
}: HlsVariant): string {
  return attributeList({
    BANDWIDTH: Math.ceil(bandwidth),
    "AVERAGE-BANDWIDTH": averageBandwidth === undefined ? undefined : Math.ceil(averageBandwidth),
    CODECS: { quoted: codecs.join(",") },
    RESOLUTION: resolution && `${resolution.width}x${resolution.height}`,
    "FRAME-RATE": frameRate?.toFixed(3),
    AUDIO: audio === undefined ? undefined : { quoted: audio },
    SUBTITLES: subtitles === undefined ? undefined : { quoted: subtitles },
    // RFC 8216 4.3.4.2: states that the video has no embedded captions, which players would otherwise offer.
    "CLOSED-CAPTIONS": resolution && "NONE",
  });
}
