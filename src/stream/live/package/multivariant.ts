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
/** Maximum lines of the first variant, because the client's bandwidth is still unknown. */
const MAX_FIRST_VARIANT_LINES = 480;

export function liveMultivariant(
  renditions: readonly LiveRendition[],
  { query, bandwidthHint = null, text = [] }: MultivariantOptions,
): string {
  const pictures = renditions.filter(({ kind }) => kind === "video");
  const sound = renditions.filter(({ kind }) => kind === "audio");
  const subtitles = text.length === 0 ? {} : { subtitles: TEXT_GROUP };
  const received = { peak: most(sound, "peakBandwidth"), average: most(sound, "averageBandwidth") };
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
    bandwidth: peakBandwidth + received.peak,
    averageBandwidth: averageBandwidth + received.average,
    codecs: [codecs, ...new Set(sound.map((one) => one.codecs))],
    ...(width !== undefined && height !== undefined && width > 0 && height > 0 && { resolution: { width, height } }),
    ...(frameRate !== undefined && frameRate > 0 && { frameRate }),
    ...(sound.length > 0 && { audio: AUDIO_GROUP }),
    ...subtitles,
  });
  const soundAlone = ({ name, codecs, peakBandwidth, averageBandwidth }: LiveRendition): HlsVariant => ({
    uri: playlistUri(name, query),
    bandwidth: peakBandwidth,
    averageBandwidth,
    codecs: [codecs],
    audio: AUDIO_GROUP,
    ...subtitles,
  });
  const variants = pictures.length === 0 ? sound.map(soundAlone) : smallFirst(pictures).map(variant);
  return writeMultivariant({
    variants: nearestToHint(
      variants,
      bandwidthHint,
      ({ averageBandwidth, bandwidth }) => averageBandwidth ?? bandwidth,
    ),
    renditions: [
      ...sound.map(({ name, channels }, index): HlsRendition => ({
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
function smallFirst(pictures: readonly LiveRendition[]): readonly LiveRendition[] {
  const everywhere = pictures.filter(({ codecs }) => codecs.startsWith("avc1"));
  const from = everywhere.length > 0 ? everywhere : pictures;
  const first =
    from.find(({ width = 0, height = 0 }) => Math.min(width, height) <= MAX_FIRST_VARIANT_LINES) ?? from.at(-1)!;
  return [first, ...pictures.filter((one) => one !== first)];
}

const most = (renditions: readonly LiveRendition[], of: "peakBandwidth" | "averageBandwidth") =>
  Math.max(0, ...renditions.map((one) => one[of]));
