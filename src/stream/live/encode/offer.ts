import { aacEntry, av1Entry, avcEntry, hevcEntry, Mp4Error, type SampleEntry } from "../../../protocol/mp4/index.ts";
import type { LiveAudioTrack, LiveVideoTrack } from "../packets.ts";

/** A track that is passed through to viewers. */
export interface PassthroughVideo extends SampleEntry {
  /** Pixels; 0 if unknown. */
  width: number;
  height: number;
}

export interface PassthroughAudio extends SampleEntry {
  sampleRate: number;
  channels: number;
  frame: number;
}

/** H.264 profiles that browsers play: baseline, main, extended and high, all 8-bit 4:2:0. */
const PLAYED_AVC_PROFILES = new Set([66, 77, 88, 100]);
const ENTRY_FACTORIES = { h264: avcEntry, hevc: hevcEntry, av1: av1Entry };
/** AAC object types that browsers play: AAC-LC and HE-AAC. */
const AAC_OBJECT_TYPES = new Set([2, 5, 29]);

/** Returns undefined if players cannot play the track and it must be transcoded. */
export function toPassthroughVideo({ codec, config, width, height }: LiveVideoTrack): PassthroughVideo | undefined {
  if (codec === "vp8" || codec === "vp9") return undefined;
  if (codec === "h264" && !PLAYED_AVC_PROFILES.has(config[1] ?? 0)) return undefined;
  return tryParse(() => ({ ...ENTRY_FACTORIES[codec](config, width, height), width, height }));
}

export function toPassthroughAudio({ codec, config }: LiveAudioTrack): PassthroughAudio | undefined {
  if (codec !== "aac") return undefined;
  const offer = tryParse(() => aacEntry(config));
  // Frames of 960 samples are for digital radio; not every player supports more than two channels.
  return offer !== undefined &&
    AAC_OBJECT_TYPES.has(offer.kind) &&
    offer.frame === 1024 &&
    offer.channels >= 1 &&
    offer.channels <= 2
    ? offer
    : undefined;
}

function tryParse<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (err) {
    if (err instanceof Mp4Error) return undefined;
    throw err;
  }
}
