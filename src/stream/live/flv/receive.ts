import {
  FlvError,
  readAudio,
  readTags,
  readVideo,
  aacFormat,
  mp3Format,
  opusFormat,
  type FlvAudio,
  type FlvVideo,
} from "../../../protocol/flv/index.ts";
import { MESSAGE, readMetadata, type RtmpMessage } from "../../../protocol/rtmp/index.ts";
import type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "../packets.ts";
import type { Publication } from "../publish.ts";
import { createTrackAnnouncer } from "./first-tracks.ts";
import { readVideoConfig, type VideoConfig } from "./video-config.ts";
import { withLongLengths } from "./lengths.ts";

/** Receives a publisher's RTMP messages or FLV tags. */
export interface FlvReceiver {
  /**
   * Throws UserError for unsupported input, FlvError and RtmpViolation for malformed input: close the connection then.
   */
  message(message: RtmpMessage): void;
  /** Releases packets that are still waiting for other tracks to be announced. */
  end(): void;
}

type PacketTarget = Pick<Publication, "configure" | "unsupported" | "write" | "lost">;

/** Video and audio before their configuration are dropped and counted. */
export function createFlvReceiver(publication: PacketTarget): FlvReceiver {
  let config: VideoConfig | undefined;
  let video: LiveVideoTrack | undefined;
  let audio: LiveAudioTrack | undefined;
  /** Frame size announced by the publisher, for configurations that have none. */
  let size = { width: 0, height: 0 };
  let unwrappedTime: number | undefined;
  const announcer = createTrackAnnouncer({
    configure: (tracks) => publication.configure(tracks),
    write: publication.write,
  });

  const tracks = (): LiveTracks => ({ ...(video && { video }), ...(audio && { audio }) });

  /** Returns milliseconds that keep increasing when the 32-bit time wraps after 49 days. */
  function unwrapTime(time: number): number {
    unwrappedTime = unwrappedTime === undefined ? time : unwrappedTime + ((time - unwrappedTime) | 0);
    return unwrappedTime;
  }

  function setVideo(codec: LiveVideoTrack["codec"], bytes: Buffer) {
    const read = readVideoConfig(codec, bytes);
    if (read === undefined)
      throw publication.unsupported("video", `${codec.toUpperCase()} with an invalid decoder configuration`);
    const track = { codec, config: read.config, width: read.width || size.width, height: read.height || size.height };
    // Many publishers repeat the configuration with every key frame.
    if (video !== undefined && video.codec === codec && video.config.equals(track.config)) return;
    config = read;
    video = track;
    announcer.known(tracks());
  }

  function setAudio(codec: LiveAudioTrack["codec"], bytes: Buffer) {
    if (audio !== undefined && audio.codec === codec && audio.config.equals(bytes)) return;
    const audioFormat = codec === "aac" ? aacFormat(bytes) : opusFormat(bytes);
    if (audioFormat === undefined)
      throw publication.unsupported("audio", "AAC without a sample rate or channel count in its configuration");
    audio = { codec, config: bytes, ...audioFormat };
    announcer.known(tracks());
  }

  function handlePicture({ codec, key, composition, data }: FlvVideo & { kind: "picture" }, time: number) {
    if (video === undefined && (codec === "vp8" || codec === "vp9")) {
      video = { codec, config: Buffer.alloc(0), ...size };
      announcer.known(tracks());
    }
    const units = video?.codec === codec ? withLongLengths(data, config?.lengthSize) : undefined;
    if (units === undefined) return publication.lost(1);
    write({ kind: "video", dts: time * 1000, pts: (time + composition) * 1000, key, data: units });
  }

  function handleAudioFrame({ codec, data }: FlvAudio & { kind: "frame" }, time: number) {
    if (codec === "mp3") setMp3(data);
    else if (codec === "opus" && audio === undefined) setAudio("opus", Buffer.alloc(0));
    if (audio?.codec !== codec) return publication.lost(1);
    write({ kind: "audio", dts: time * 1000, pts: time * 1000, key: true, data });
  }

  /** Every frame repeats the format. */
  function setMp3(data: Buffer) {
    const audioFormat = mp3Format(data);
    if (
      audioFormat === undefined ||
      (audio?.codec === "mp3" && audio.sampleRate === audioFormat.sampleRate && audio.channels === audioFormat.channels)
    )
      return;
    audio = { codec: "mp3", config: Buffer.alloc(0), ...audioFormat };
    announcer.known(tracks());
  }

  const write = (packet: MediaPacket) => announcer.write(packet);

  function onVideo(data: Buffer, time: number) {
    const tagData = readVideo(data);
    if (tagData.kind === "config") {
      if (tagData.codec !== "vp8" && tagData.codec !== "vp9") setVideo(tagData.codec, Buffer.from(tagData.config));
    } else if (tagData.kind === "picture") handlePicture(tagData, time);
    else if (tagData.kind === "unknown") throw publication.unsupported("video", tagData.codec);
  }

  function onAudio(data: Buffer, time: number) {
    const tagData = readAudio(data);
    if (tagData.kind === "config") {
      if (tagData.codec !== "mp3") setAudio(tagData.codec, Buffer.from(tagData.config));
    } else if (tagData.kind === "frame") handleAudioFrame(tagData, time);
    else if (tagData.kind === "unknown") throw publication.unsupported("audio", tagData.codec);
  }

  function onMetadata(message: RtmpMessage) {
    const metadata = readMetadata(message);
    if (metadata === undefined) return;
    const pixels = (value: unknown) =>
      typeof value === "number" && value > 0 && value <= 16_384 ? Math.round(value) : 0;
    size = { width: pixels(metadata["width"]), height: pixels(metadata["height"]) };
    announcer.expect({
      video: "videocodecid" in metadata || size.width > 0,
      audio: "audiocodecid" in metadata || "audiosamplerate" in metadata,
    });
  }

  function message(rtmpMessage: RtmpMessage): void {
    switch (rtmpMessage.type) {
      case MESSAGE.video:
        return onVideo(rtmpMessage.data, unwrapTime(rtmpMessage.time));
      case MESSAGE.audio:
        return onAudio(rtmpMessage.data, unwrapTime(rtmpMessage.time));
      case MESSAGE.data:
      case MESSAGE.dataAmf3:
        return onMetadata(rtmpMessage);
      case MESSAGE.aggregate:
        return handleAggregate(rtmpMessage);
    }
  }

  /**
   * Handles several messages in one, with a separate clock whose first time equals the time of the whole message
   * (7.1.6).
   */
  function handleAggregate({ time, stream, data }: RtmpMessage) {
    let firstTime: number | undefined;
    for (const tag of readTags(data)) {
      if (tag.type === MESSAGE.aggregate) throw new FlvError("nested aggregate message");
      firstTime ??= tag.time;
      message({ type: tag.type, stream, time: (time + tag.time - firstTime) >>> 0, data: tag.data });
    }
  }

  return { message, end: announcer.end };
}
