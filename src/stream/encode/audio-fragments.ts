import { writeFragment, writeInit } from "../../protocol/mp4/index.ts";
import type { MediaModel } from "../model.ts";
import { AUDIO_BITRATE, AUDIO_CHANNELS, AUDIO_FRAME_SAMPLES, AUDIO_RATE, audioFrames } from "./audio-grid.ts";

const TRACK_ID = 1;

type AudioModel = Pick<MediaModel, "segments" | "primedAudio">;

/** Samples that the edit list removes: one frame, the encoder delay. */
const delayOf = ({ primedAudio }: Pick<MediaModel, "primedAudio">): number =>
  primedAudio === true ? AUDIO_FRAME_SAMPLES : 0;

/**
 * Returns the number of AAC frames in segment n: those of the grid, preceded in the first segment by the priming frame.
 */
export const segmentFrameCount = ({ segments, primedAudio }: AudioModel, n: number): number =>
  audioFrames(segments, n).count + (primedAudio === true && n === 0 ? 1 : 0);

/** Builds segment n from exactly these AAC frames. */
export function audioSegment(model: AudioModel, n: number, frames: readonly Buffer[]): Buffer {
  const { first } = audioFrames(model.segments, n);
  const count = segmentFrameCount(model, n);
  const time = n === 0 ? 0 : first * AUDIO_FRAME_SAMPLES + delayOf(model);
  if (frames.length !== count) throw new Error(`audio segment ${n} has ${frames.length} frames; expected ${count}`);
  const samples = frames.map(({ length }) => ({ duration: AUDIO_FRAME_SAMPLES, size: length, shift: 0, sync: true }));
  return Buffer.concat([writeFragment({ track: TRACK_ID, sequence: n + 1, time, samples }), ...frames]);
}

/** Returns the initialization segment, which is the same for every audio rendition of a video. */
export function audioInitSegment(model: Pick<MediaModel, "primedAudio">): Buffer {
  return writeInit({
    id: TRACK_ID,
    handler: "soun",
    timescale: AUDIO_RATE,
    width: 0,
    height: 0,
    description: createSampleDescription(),
    delay: delayOf(model),
  });
}

/** ISO 14496-12 12.2.3 and 14496-14 5.6: AAC-LC, 48 kHz, stereo. */
function createSampleDescription(): Buffer {
  const entry = Buffer.alloc(36);
  entry.write("mp4a", 4, "latin1");
  entry.writeUInt16BE(1, 14);
  entry.writeUInt16BE(AUDIO_CHANNELS, 24);
  entry.writeUInt16BE(16, 26);
  entry.writeUInt32BE(AUDIO_RATE * 65_536, 32);
  const esds = elementaryStream();
  const bytes = Buffer.concat([entry, esds]);
  bytes.writeUInt32BE(bytes.length, 0);
  return bytes;
}

/** ISO 14496-3 1.6.2.1: object type 2, sampling frequency index 3, two channels. */
const SPECIFIC_CONFIG = [0x11, 0x90];

function elementaryStream(): Buffer {
  const rates = Buffer.alloc(8);
  rates.writeUInt32BE(2 * AUDIO_BITRATE, 0);
  rates.writeUInt32BE(AUDIO_BITRATE, 4);
  // 14496-1 7.2.6: audio of 14496-3, an audio stream, no buffer size; then the configuration.
  const decoder = descriptor(4, [0x40, 0x15, 0, 0, 0, ...rates, ...descriptor(5, SPECIFIC_CONFIG)]);
  const body = descriptor(3, [0, 0, 0, ...decoder, ...descriptor(6, [2])]);
  const box = Buffer.from([0, 0, 0, 0, ...Buffer.from("esds"), 0, 0, 0, 0, ...body]);
  box.writeUInt32BE(box.length, 0);
  return box;
}

const descriptor = (tag: number, body: readonly number[]): number[] => [tag, body.length, ...body];
