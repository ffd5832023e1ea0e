import { type HlsRendition, type HlsVariant, writeMultivariant } from "../../../protocol/hls/index.ts";
import { nearestToHint, type TextTrack } from "../../playback/index.ts";
import type { LiveRendition } from "../fragments.ts";
import { playlistUri } from "./playlists.ts";

interface MultivariantOptions {
  /** Appended to media playlist URLs: "?protocol=llhls". */
  query: string;
  /** `clientBandwidthHint`. */
  bandwidthHint?: string | null;
  text?: readonly TextTrack[];
}

const AUDIO_GROUP = "audio";
const TEXT_GROUP = "text";
/** Maximum height of the first variant, in lines, because the client's bandwidth is still unknown. */
const MAX_FIRST_VARIANT_LINES = 480;

export function liveMultivariantPlaylist(
  renditions: readonly LiveRendition[],
  { query, bandwidthHint = null, text = [] }: MultivariantOptions,
): string {
  const videoRenditions = renditions.filter(({ kind }) => kind === "video");
  const audioRenditions = renditions.filter(({ kind }) => kind === "audio");
  const subtitles = text.length === 0 ? {} : { subtitles: TEXT_GROUP };
  const audioRates = {
    peak: maxRate(audioRenditions, "peakBandwidth"),
    average: maxRate(audioRenditions, "averageBandwidth"),
  };
  const variant = ({
    name,
    codecs,
    peakBandwidth,
    averageBandwidth,
    width,
    height,
    frameRate,
  }: LiveRendition): HlsVariant => ({
    uri: playlistUri(name, query),
    bandwidth: peakBandwidth + audioRates.peak,
    averageBandwidth: averageBandwidth + audioRates.average,
    codecs: [codecs, ...new Set(audioRenditions.map((one) => one.codecs))],
    ...(width !== undefined && height !== undefined && width > 0 && height > 0 && { resolution: { width, height } }),
    ...(frameRate !== undefined && frameRate > 0 && { frameRate }),
    ...(audioRenditions.length > 0 && { audio: AUDIO_GROUP }),
    ...subtitles,
  });
  const toAudioVariant = ({ name, codecs, peakBandwidth, averageBandwidth }: LiveRendition): HlsVariant => ({
    uri: playlistUri(name, query),
    bandwidth: peakBandwidth,
    averageBandwidth,
    codecs: [codecs],
    audio: AUDIO_GROUP,
    ...subtitles,
  });
  const variants =
    videoRenditions.length === 0 ? audioRenditions.map(toAudioVariant) : smallestFirst(videoRenditions).map(variant);
  return writeMultivariant({
    variants: nearestToHint(
      variants,
      bandwidthHint,
      ({ averageBandwidth, bandwidth }) => averageBandwidth ?? bandwidth,
    ),
    renditions: [
      ...audioRenditions.map(({ name, channels }, index): HlsRendition => ({
        type: "AUDIO",
        group: AUDIO_GROUP,
        name: index === 0 ? "Original" : name,
        uri: playlistUri(name, query),
        default: index === 0,
        autoselect: true,
        ...(channels !== undefined && { channels }),
      })),
      ...text.map(({ language, label }): HlsRendition => ({
        type: "SUBTITLES",
        group: TEXT_GROUP,
        name: label,
        language,
        uri: playlistUri(`text-${language}`, query),
        default: false,
        autoselect: true,
      })),
    ],
  });
}

/** Many players start with the first variant: lists a small one first, H.264 if available. */
function smallestFirst(videoRenditions: readonly LiveRendition[]): readonly LiveRendition[] {
  const avcRenditions = videoRenditions.filter(({ codecs }) => codecs.startsWith("avc1"));
  const from = avcRenditions.length > 0 ? avcRenditions : videoRenditions;
  const first =
    from.find(({ width = 0, height = 0 }) => Math.min(width, height) <= MAX_FIRST_VARIANT_LINES) ?? from.at(-1)!;
  return [first, ...videoRenditions.filter((one) => one !== first)];
}

const maxRate = (renditions: readonly LiveRendition[], rateField: "peakBandwidth" | "averageBandwidth") =>
  Math.max(0, ...renditions.map((one) => one[rateField]));
