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
  let clock: number | undefined;
  const first = createTrackAnnouncer({
    configure: (tracks) => publication.configure(tracks),
    write: publication.write,
  });

  const tracks = (): LiveTracks => ({ ...(video && { video }), ...(audio && { audio }) });

  /** Milliseconds that keep increasing when the 32-bit time wraps after 49 days. */
  function unwrapped(time: number): number {
    clock = clock === undefined ? time : clock + ((time - clock) | 0);
    return clock;
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
    first.known(tracks());
  }

  function setAudio(codec: LiveAudioTrack["codec"], bytes: Buffer) {
    if (audio !== undefined && audio.codec === codec && audio.config.equals(bytes)) return;
    const sound = codec === "aac" ? aacFormat(bytes) : opusFormat(bytes);
    if (sound === undefined)
      throw publication.unsupported("audio", "AAC without a sample rate or channel count in its configuration");
    audio = { codec, config: bytes, ...sound };
    first.known(tracks());
  }

  function picture({ codec, key, composition, data }: FlvVideo & { kind: "picture" }, time: number) {
    if (video === undefined && (codec === "vp8" || codec === "vp9")) {
      video = { codec, config: Buffer.alloc(0), ...size };
      first.known(tracks());
    }
    const units = video?.codec === codec ? withLongLengths(data, config?.lengthSize) : undefined;
    if (units === undefined) return publication.lost(1);
    write({ kind: "video", dts: time * 1000, pts: (time + composition) * 1000, key, data: units });
  }

  function frame({ codec, data }: FlvAudio & { kind: "frame" }, time: number) {
    if (codec === "mp3") setMp3(data);
    else if (codec === "opus" && audio === undefined) setAudio("opus", Buffer.alloc(0));
    if (audio?.codec !== codec) return publication.lost(1);
    write({ kind: "audio", dts: time * 1000, pts: time * 1000, key: true, data });
  }

  /** Every frame repeats the format. */
  function setMp3(data: Buffer) {
    const sound = mp3Format(data);
    if (
      sound === undefined ||
      (audio?.codec === "mp3" && audio.sampleRate === sound.sampleRate && audio.channels === sound.channels)
    )
      return;
    audio = { codec: "mp3", config: Buffer.alloc(0), ...sound };
    first.known(tracks());
  }

  const write = (packet: MediaPacket) => first.write(packet);

  function onVideo(data: Buffer, time: number) {
    const found = readVideo(data);
    if (found.kind === "config") {
      if (found.codec !== "vp8" && found.codec !== "vp9") setVideo(found.codec, Buffer.from(found.config));
    } else if (found.kind === "picture") picture(found, time);
    else if (found.kind === "unknown") throw publication.unsupported("video", found.codec);
  }

  function onAudio(data: Buffer, time: number) {
    const found = readAudio(data);
    if (found.kind === "config") {
      if (found.codec !== "mp3") setAudio(found.codec, Buffer.from(found.config));
    } else if (found.kind === "frame") frame(found, time);
    else if (found.kind === "unknown") throw publication.unsupported("audio", found.codec);
  }

  function onMetadata(message: RtmpMessage) {
    const about = readMetadata(message);
    if (about === undefined) return;
    const pixels = (value: unknown) =>
      typeof value === "number" && value > 0 && value <= 16_384 ? Math.round(value) : 0;
    size = { width: pixels(about["width"]), height: pixels(about["height"]) };
    first.expect({
      video: "videocodecid" in about || size.width > 0,
      audio: "audiocodecid" in about || "audiosamplerate" in about,
    });
  }

  function message(given: RtmpMessage): void {
    switch (given.type) {
      case MESSAGE.video:
        return onVideo(given.data, unwrapped(given.time));
      case MESSAGE.audio:
        return onAudio(given.data, unwrapped(given.time));
      case MESSAGE.data:
      case MESSAGE.dataAmf3:
        return onMetadata(given);
      case MESSAGE.aggregate:
        return aggregate(given);
    }
  }

  /** Several messages in one, with a separate clock whose first time equals the time of the whole message (7.1.6). */
  function aggregate({ time, stream, data }: RtmpMessage) {
    let began: number | undefined;
    for (const tag of readTags(data)) {
      if (tag.type === MESSAGE.aggregate) throw new FlvError("nested aggregate message");
      began ??= tag.time;
      message({ type: tag.type, stream, time: (time + tag.time - began) >>> 0, data: tag.data });
    }
  }

  return { message, end: first.end };
}
