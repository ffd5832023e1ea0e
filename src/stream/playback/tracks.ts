import type { MediaModel } from "../model.ts";
import { MAIN_AUDIO } from "../model.ts";
import { audioRendition } from "../audio/port.ts";
import { AUDIO_BITRATE } from "../encode/audio-grid.ts";
import type { Video } from "../videos/video.ts";
import type { ExtraAudio, PlaybackTracks, SourceRenditions, TextTrack } from "./port.ts";

/** Everything of a video that manifests are made from. */
export interface Playable {
  model: MediaModel;
  audio: AudioChoice[];
  text: TextTrack[];
  source?: SourceRenditions | undefined;
  /** Nothing has to be encoded any more. */
  complete: boolean;
}

/** One way to hear it. */
export interface AudioChoice {
  /** Of its segments. */
  rendition: string;
  /** As viewers read it; each is another. */
  name: string;
  language?: string;
  /** True of exactly one. */
  default: boolean;
}

export async function playableOf(video: Video, model: MediaModel, { captions, audio, source }: PlaybackTracks): Promise<Playable> {
  const [text, extra, rung] = await Promise.all([captions?.of(video.uid) ?? [], audio?.of(video.uid) ?? [], source?.of(video)]);
  return { model, text, audio: choices(model, extra), source: rung, complete: video.state === "ready" };
}

function choices({ audio: main }: MediaModel, extra: readonly ExtraAudio[]): AudioChoice[] {
  const chosen = extra.find((one) => one.default) ?? (main === undefined ? extra[0] : undefined);
  const names = new Set(extra.map(({ label }) => label));
  let name = "Original";
  for (let n = 2; names.has(name); n++) name = `Original ${n}`;
  return [
    ...(main === undefined ? [] : [{ rendition: MAIN_AUDIO, name, ...(main.language !== undefined && { language: main.language }), default: chosen === undefined }]),
    ...extra.map((one) => ({ rendition: audioRendition(one.uid), name: one.label, default: one === chosen })),
  ];
}

/** Seconds of the whole, as its segments have it. */
export const playedSeconds = ({ segments: { frames, fps } }: MediaModel): number => (frames * fps.den) / fps.num;

/**
 * The encoder's buffer holds two seconds of its cap, and every segment begins with it almost full: the largest segment of four seconds
 * is half as large again as the cap alone would have it.
 */
const PEAK = 1.5;

export interface Bandwidth {
  peak: number;
  average: number;
}

/** Of a rung alone, without the audio beside it. */
export const rungBandwidth = (bitrate: number): Bandwidth => ({ peak: bitrate * PEAK, average: bitrate });
export const AUDIO_BANDWIDTH: Bandwidth = { peak: AUDIO_BITRATE * 1.1, average: AUDIO_BITRATE };

/** `clientBandwidthHint`, in Mbit/s: what comes nearest. Undefined: everything, also where the hint says nothing. */
export function nearest<One>(all: readonly One[], hint: string | null, bandwidth: (one: One) => number): readonly One[] {
  const wanted = hint === null || hint.trim() === "" ? Number.NaN : Number(hint) * 1e6;
  if (!Number.isFinite(wanted) || wanted <= 0 || all.length === 0) return all;
  const distance = (one: One) => Math.abs(bandwidth(one) - wanted);
  return [all.reduce((best, one) => (distance(one) < distance(best) ? one : best))];
}
