import { createMatroskaWriter, type MatroskaTrack } from "../../../protocol/matroska/index.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";

const VIDEO = { h264: "V_MPEG4/ISO/AVC", hevc: "V_MPEGH/ISO/HEVC", av1: "V_AV1", vp8: "V_VP8", vp9: "V_VP9" };
const AUDIO = { aac: "A_AAC", opus: "A_OPUS", mp3: "A_MPEG/L3" };
/** The field requires a size; decoders use the one in the bitstream. */
const FALLBACK_SIZE = { width: 1280, height: 720 };

/**
 * Packets in the format ffmpeg reads. Subtracting `delay` microseconds, the offset from decoding to presentation of the
 * first frame, makes video start at zero.
 */
interface EncoderInput {
  header(): Buffer;
  packet(packet: MediaPacket): Buffer[];
}

export function createEncoderInput({ video, audio }: LiveTracks, delay: number): EncoderInput {
  const tracks: MatroskaTrack[] = [
    ...(video
      ? [
          {
            kind: "video" as const,
            codec: VIDEO[video.codec],
            config: video.config,
            ...(video.width > 0 && video.height > 0 ? { width: video.width, height: video.height } : FALLBACK_SIZE),
          },
        ]
      : []),
    ...(audio
      ? [
          {
            kind: "audio" as const,
            codec: AUDIO[audio.codec],
            config: audio.codec === "opus" && audio.config.length === 0 ? createOpusHead(audio.channels) : audio.config,
            sampleRate: audio.sampleRate,
            channels: audio.channels,
          },
        ]
      : []),
  ];
  const writer = createMatroskaWriter(tracks);
  return {
    header: writer.header,
    packet: ({ kind, pts, key, data }) =>
      kind === "video" ? writer.block(1, pts - delay, key, data) : writer.block(video ? 2 : 1, pts, key, data),
  };
}

/** RFC 7845, 5.1: nothing to skip, 48 kHz, one stream. */
function createOpusHead(channels: number): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead", "latin1");
  head.writeUInt8(1, 8);
  head.writeUInt8(channels === 1 ? 1 : 2, 9);
  head.writeUInt32LE(48_000, 12);
  return head;
}
