import { aacEntry, av1Entry, avcEntry, hevcEntry, Mp4Error, type SampleEntry } from "../../../protocol/mp4/index.ts";
import type { LiveAudioTrack, LiveVideoTrack } from "../packets.ts";

/** A track that viewers get as it comes. */
export interface VideoOffer extends SampleEntry {
  /** Pixels; 0 where nothing says. */
  width: number;
  height: number;
}

export interface AudioOffer extends SampleEntry {
  sampleRate: number;
  channels: number;
  frame: number;
}

/** Profiles of H.264 that browsers play: baseline, main, extended and high, all of 8 bits and 4:2:0. */
const PLAYED = new Set([66, 77, 88, 100]);
const MAKERS = { h264: avcEntry, hevc: hevcEntry, av1: av1Entry };
/** Audio object types of AAC that browsers play: low complexity and high efficiency. */
const AAC_KINDS = new Set([2, 5, 29]);

/** Undefined: players could not do with it, so it has to be encoded anew. */
export function videoOffer({ codec, config, width, height }: LiveVideoTrack): VideoOffer | undefined {
  if (codec === "vp8" || codec === "vp9") return undefined;
  if (codec === "h264" && !PLAYED.has(config[1] ?? 0)) return undefined;
  return unlessBroken(() => ({ ...MAKERS[codec](config, width, height), width, height }));
}

export function audioOffer({ codec, config }: LiveAudioTrack): AudioOffer | undefined {
  if (codec !== "aac") return undefined;
  const offer = unlessBroken(() => aacEntry(config));
  // Frames of 960 samples are for broadcasting; of more than two channels not every player has loudspeakers.
  return offer !== undefined &&
    AAC_KINDS.has(offer.kind) &&
    offer.frame === 1024 &&
    offer.channels >= 1 &&
    offer.channels <= 2
    ? offer
    : undefined;
}

function unlessBroken<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (err) {
    if (err instanceof Mp4Error) return undefined;
    throw err;
  }
}
