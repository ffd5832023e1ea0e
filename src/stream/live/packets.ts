/**
 * Common format of broadcasts: every ingest protocol converts to these types, and all further processing (packaging,
 * encoding, WebRTC, RTMP and SRT playback, simulcast) uses them.
 */
export interface LiveTracks {
  video?: LiveVideoTrack;
  audio?: LiveAudioTrack;
}

export interface LiveVideoTrack {
  codec: "h264" | "hevc" | "av1" | "vp8" | "vp9";
  /** The codec's configuration record: avcC, hvcC, av1C without box headers; empty for VP8 and VP9. */
  config: Buffer;
  /** Pixels; 0 if unknown. */
  width: number;
  height: number;
}

export interface LiveAudioTrack {
  codec: "aac" | "opus" | "mp3";
  /** AudioSpecificConfig of AAC; OpusHead of Opus (RFC 7845, 5.1), empty if not sent; empty for MP3. */
  config: Buffer;
  sampleRate: number;
  channels: number;
}

export interface MediaPacket {
  kind: "video" | "audio";
  /**
   * Decoding and presentation time in microseconds since the beginning of the run. `dts` never decreases within a
   * track.
   */
  dts: number;
  pts: number;
  /** Decoding can start here. Always true for audio packets. */
  key: boolean;
  /**
   * Video: one frame; H.264 and HEVC as NAL units, each with a four-octet length. Audio: one frame, AAC without ADTS.
   * Do not modify.
   */
  data: Buffer;
}
