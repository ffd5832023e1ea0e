import { audioFrameHeader, videoFrameHeader, writeAudioConfig, writeVideoConfig } from "../../../protocol/flv/index.ts";
import { type AmfObject, MESSAGE } from "../../../protocol/rtmp/index.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSubscriber } from "../session.ts";

/** Writes a broadcast as RTMP messages, for one player or one remote server. */
interface FlvSenderOptions {
  /**
   * Called in order, with times in milliseconds that begin at zero and never decrease within a track. `head` precedes
   * `data`, which is not copied.
   */
  send(message: { type: number; time: number; head: Buffer; data: Buffer }): void;
  /** Stream metadata; called before the first message and on changes. */
  metadata(streamMetadata: AmfObject): void;
}

const EMPTY = Buffer.alloc(0);

const headOf = ({ kind, key, dts, pts }: MediaPacket, { video, audio }: LiveTracks): Buffer =>
  kind === "audio"
    ? audioFrameHeader(audio!.codec)
    : videoFrameHeader(video!.codec, { key, composition: Math.round(pts / 1000) - Math.round(dts / 1000) });

/** Gap between the last packet of a run and the first packet of the next one. */
const STEP_MS = 40;

export function createFlvSender({ send, metadata }: FlvSenderOptions): Pick<LiveSubscriber, "tracks" | "packet"> {
  let currentTracks: LiveTracks = {};
  /** Added to the times of the run; undefined before its first packet. */
  let offset: number | undefined;
  let hasStarted = false;
  let latest = 0;

  function configure({ video, audio }: LiveTracks) {
    if (video !== undefined && video.config.length > 0)
      send({ type: MESSAGE.video, time: latest, head: EMPTY, data: writeVideoConfig(video.codec, video.config) });
    const config = audio && writeAudioConfig(audio.codec, audio.config);
    if (config !== undefined) send({ type: MESSAGE.audio, time: latest, head: EMPTY, data: config });
  }

  return {
    tracks(tracks) {
      currentTracks = tracks;
      if (hasStarted) latest += STEP_MS;
      offset = undefined;
      metadata(metadataOf(tracks));
      configure(tracks);
    },
    packet(packet) {
      if (currentTracks[packet.kind] === undefined) return;
      const time = Math.round(packet.dts / 1000);
      offset ??= latest - time;
      hasStarted = true;
      // Never negative: audio that precedes the first video frame may arrive after it.
      const sendTime = Math.max(0, time + offset);
      latest = Math.max(latest, sendTime);
      send({
        type: packet.kind === "video" ? MESSAGE.video : MESSAGE.audio,
        time: sendTime >>> 0,
        head: headOf(packet, currentTracks),
        data: packet.data,
      });
    },
  };
}

/** FLV codec ids; codecs without an id use their FourCC (Enhanced RTMP). */
const VIDEO_ID = { h264: 7, hevc: fourCc("hvc1"), av1: fourCc("av01"), vp8: fourCc("vp08"), vp9: fourCc("vp09") };
const AUDIO_ID = { aac: 10, mp3: 2, opus: fourCc("Opus") };

function fourCc(name: string): number {
  return Buffer.from(name, "latin1").readUInt32BE(0);
}

const metadataOf = ({ video, audio }: LiveTracks): AmfObject => ({
  ...(video && {
    videocodecid: VIDEO_ID[video.codec],
    ...(video.width > 0 && { width: video.width, height: video.height }),
  }),
  ...(audio && {
    audiocodecid: AUDIO_ID[audio.codec],
    audiosamplerate: audio.sampleRate,
    audiochannels: audio.channels,
    stereo: audio.channels > 1,
  }),
  encoder: "Reelpost",
});
