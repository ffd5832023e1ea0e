import type { BitRates } from "../../protocol/hls/index.ts";
import { audioRendition, MAIN_AUDIO, type MediaModel, type VideoRendition } from "../model.ts";
import { AUDIO_BITRATE } from "../encode/index.ts";
import type { Video } from "../videos/index.ts";
import type { RenditionRates } from "./rates.ts";
import type { ExtraAudio, PlaybackTracks, SourceRenditions, TextTrack } from "./port.ts";

/** All data of a video that manifests are built from. */
export interface PlayableVideo {
  model: MediaModel;
  audio: AudioChoice[];
  text: TextTrack[];
  source?: SourceRenditions | undefined;
  /** Measured bitrates by rendition; others are estimated. */
  rates?: ReadonlyMap<string, BitRates>;
  /** True once everything is encoded. */
  complete: boolean;
}

/** One selectable audio track. */
export interface AudioChoice {
  /** Rendition of its segments. */
  rendition: string;
  /** Label shown to viewers; unique. */
  name: string;
  language?: string;
  /** True for exactly one track. */
  default: boolean;
  /**
   * A player may select the track by the user's language: the default track and the first one in each other language
   * (RFC 8216 4.3.4.1.1).
   */
  autoselect: boolean;
}

export async function playableVideoOf(
  video: Video,
  model: MediaModel,
  { captions, audio, source, rates }: PlaybackTracks & { rates?: RenditionRates | undefined },
): Promise<PlayableVideo> {
  const [text, extra, rung] = await Promise.all([
    captions?.of(video.uid) ?? [],
    audio?.of(video.uid) ?? [],
    source?.of(video),
  ]);
  const audioChoices = audioChoicesOf(model, extra);
  const measured = await rates?.of(video, [
    ...model.ladder.map(({ name }) => name),
    ...audioChoices.map(({ rendition }) => rendition),
  ]);
  return {
    model,
    text,
    audio: audioChoices,
    source: rung,
    complete: video.state === "ready",
    ...(measured && { rates: measured }),
  };
}

function audioChoicesOf({ audio: mainAudio }: MediaModel, extra: readonly ExtraAudio[]): AudioChoice[] {
  const chosen = extra.find((entry) => entry.default) ?? (mainAudio === undefined ? extra[0] : undefined);
  const names = new Set(extra.map(({ label }) => label));
  let name = "Original";
  for (let n = 2; names.has(name); n++) name = `Original ${n}`;
  const all: Omit<AudioChoice, "autoselect">[] = [
    ...(mainAudio === undefined
      ? []
      : [
          {
            rendition: MAIN_AUDIO,
            name,
            ...(mainAudio.language !== undefined && { language: mainAudio.language }),
            default: chosen === undefined,
          },
        ]),
    ...extra.map((entry) => ({
      rendition: audioRendition(entry.uid),
      name: entry.label,
      ...(entry.language !== undefined && { language: entry.language }),
      default: entry === chosen,
    })),
  ];
  const languages = new Set(all.flatMap((choice) => (choice.default ? (choice.language ?? []) : [])));
  return all.map((choice) => {
    const isNew = choice.language !== undefined && !languages.has(choice.language);
    if (isNew) languages.add(choice.language!);
    return { ...choice, autoselect: choice.default || isNew };
  });
}

/** Returns the duration of the whole video in seconds, as the sum of its segments. */
export const playbackSeconds = ({ segments: { frames, fps } }: MediaModel): number => (frames * fps.den) / fps.num;

/**
 * The encoder's buffer holds two seconds at its cap, and is almost full at the start of every segment: the largest
 * four-second segment can exceed the cap by half.
 */
const PEAK_FACTOR = 1.5;

/** Returns the bitrates of a ladder rendition without its audio: measured, or the encoder's cap. */
export const videoRates = ({ rates }: PlayableVideo, { name, bitrate }: VideoRendition): BitRates =>
  rates?.get(name) ?? { peak: bitrate * PEAK_FACTOR, average: bitrate };

const AUDIO_ESTIMATE: BitRates = { peak: AUDIO_BITRATE * 1.1, average: AUDIO_BITRATE };

export const audioRates = ({ rates }: PlayableVideo, { rendition }: AudioChoice): BitRates =>
  rates?.get(rendition) ?? AUDIO_ESTIMATE;

/** RFC 8216 4.3.4.2: BANDWIDTH is the largest sum over all playable combinations of renditions. */
export const maxBitRates = (all: readonly BitRates[]): BitRates => ({
  peak: Math.max(0, ...all.map(({ peak }) => peak)),
  average: Math.max(0, ...all.map(({ average }) => average)),
});

/** Returns the variant nearest to `clientBandwidthHint`, in Mbit/s, or all variants without a valid hint. */
export function nearestToHint<Item>(
  all: readonly Item[],
  hint: string | null,
  bandwidth: (item: Item) => number,
): readonly Item[] {
  const hintedBandwidth = hint === null || hint.trim() === "" ? Number.NaN : Number(hint) * 1e6;
  if (!Number.isFinite(hintedBandwidth) || hintedBandwidth <= 0 || all.length === 0) return all;
  const distanceToHint = (item: Item) => Math.abs(bandwidth(item) - hintedBandwidth);
  return [all.reduce((best, item) => (distanceToHint(item) < distanceToHint(best) ? item : best))];
}
