/**
 * What a broadcast is made of, whatever it comes in by: every way in turns its own format into these, and everything that is done with a broadcast
 * (packaging, encoding, WebRTC, playing over RTMP and SRT, simulcast) begins with them.
 */
export interface LiveTracks {
  video?: LiveVideoTrack;
  audio?: LiveAudioTrack;
}

export interface LiveVideoTrack {
  codec: "h264" | "hevc" | "av1" | "vp8" | "vp9";
  /** The codec's configuration record: avcC, hvcC, av1C without box headers; empty for VP8 and VP9. */
  config: Buffer;
  /** Pixels; 0 where nothing says. */
  width: number;
  height: number;
}

export interface LiveAudioTrack {
  codec: "aac" | "opus" | "mp3";
  /** AudioSpecificConfig of AAC; OpusHead of Opus (RFC 7845, 5.1), empty where there was none; empty for MP3. */
  config: Buffer;
  sampleRate: number;
  channels: number;
}

export interface MediaPacket {
  kind: "video" | "audio";
  /** Microseconds since the beginning of the run: when it is decoded, and when it is shown. Never decreasing by track in `dts`. */
  dts: number;
  pts: number;
  /** Decoding can begin here. True of every audio packet. */
  key: boolean;
  /** Video: one picture; of H.264 and HEVC NAL units with a length of four octets before each. Audio: one frame, of AAC without ADTS. Not to be changed. */
  data: Buffer;
}
