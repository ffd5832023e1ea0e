import { attributeList } from "./attributes.ts";

/** RFC 8216 4.3.4: what a player chooses from. */
export interface MultivariantPlaylist {
  /** The first is where many players begin. At least one. */
  variants: readonly HlsVariant[];
  renditions?: readonly HlsRendition[];
}

export interface HlsVariant {
  uri: string;
  /** Peak, in bits per second, of everything that is played with it. */
  bandwidth: number;
  averageBandwidth?: number;
  /** RFC 6381, one for each format in it. */
  codecs: readonly string[];
  resolution?: { width: number; height: number };
  frameRate?: number;
  /** GROUP-ID of the renditions that belong to it. */
  audio?: string;
  subtitles?: string;
}

export interface HlsRendition {
  type: "AUDIO" | "SUBTITLES";
  group: string;
  /** Unique within its group, as viewers read it. */
  name: string;
  /** BCP 47. */
  language?: string;
  uri: string;
  default: boolean;
  /** Whether a player may choose it by the language of its user. */
  autoselect: boolean;
  channels?: number;
}

/** Protocol version 6: EXT-X-MAP in playlists of more than I-frames (RFC 8216 7). Addresses are written as they are given. */
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
    // RFC 8216 4.3.4.1: it is YES wherever DEFAULT is.
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
    // RFC 8216 4.3.4.2: said outright that there are no captions inside the pictures, or players offer them.
    "CLOSED-CAPTIONS": resolution && "NONE",
  });
}
