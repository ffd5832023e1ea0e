import { createAudioFrameReader, type Timed } from "./audio-frames.ts";

/**
 * Frames of MPEG audio layer III (ISO 11172-3, 2.4.1.3, and ISO 13818-3 for the lower rates), raw and including their
 * headers.
 */
interface MpegAudioFrame {
  data: Buffer;
  sampleRate: number;
  channels: number;
  samples: number;
}

/** Kilobits per second by header index, first for version 1, then for versions 2 and 2.5. */
const BITRATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const SAMPLE_RATES = [44_100, 48_000, 32_000];
const HEADER_BYTES = 4;
const MAX_BUFFERED_BYTES = 4 * 1024;

/**
 * Reads frames from packets; `pts` is the time of the packet, in any unit. Returns "other" for frames of a different
 * layer.
 */
export function createMpegAudioReader(): { read(bytes: Buffer, pts: number): (MpegAudioFrame & Timed)[] | "other" } {
  let layer: "III" | "other" | undefined;
  const readFrames = createAudioFrameReader({
    header: HEADER_BYTES,
    maxBuffered: MAX_BUFFERED_BYTES,
    frameAt(bytes: Buffer, at: number) {
      const frame = frameAt(bytes, at);
      if (frame === undefined || frame === "incomplete") return frame;
      // Once the layer is known, data that looks like a different layer is in the middle of a frame whose beginning was
      // lost.
      layer ??= frame === "other" ? "other" : "III";
      return frame === "other" ? undefined : { frame, end: at + frame.data.length };
    },
  });
  return {
    read(bytes, pts) {
      const frames = readFrames(bytes, pts);
      return layer === "other" ? "other" : frames;
    },
  };
}

function frameAt(bytes: Buffer, at: number): MpegAudioFrame | "incomplete" | "other" | undefined {
  const header = bytes.readUInt32BE(at);
  const [version, layer, bitrate, rate] = [
    (header >>> 19) & 3,
    (header >>> 17) & 3,
    (header >>> 12) & 15,
    (header >>> 10) & 3,
  ];
  if (header >>> 21 !== 0x7ff || version === 1 || layer === 0 || rate === 3) return undefined;
  if (layer !== 1) return "other";
  const isLowRate = version !== 3;
  const kilobitsPerSecond = BITRATES[isLowRate ? 1 : 0][bitrate];
  if (!kilobitsPerSecond) return undefined;
  const sampleRate = SAMPLE_RATES[rate]! / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const size = Math.floor(((isLowRate ? 72 : 144) * kilobitsPerSecond * 1000) / sampleRate) + ((header >>> 9) & 1);
  if (at + size > bytes.length) return "incomplete";
  return {
    data: bytes.subarray(at, at + size),
    sampleRate,
    channels: (header >>> 6) % 4 === 3 ? 1 : 2,
    samples: isLowRate ? 576 : 1152,
  };
}
