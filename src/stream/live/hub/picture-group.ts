import type { MediaPacket } from "../packets.ts";

/** Packets since the last key frame, for subscribers that start in the middle of a GOP. */
interface GopBuffer {
  add(packet: MediaPacket): void;
  /** Empty if the GOP was too large to store: subscribers then start with the next key frame. */
  packets(): readonly MediaPacket[];
  /** `audioOnly`: the stream has no video. */
  clear(options?: { audioOnly?: boolean }): void;
}

/** Limits of a stored GOP; publishers are advised to shorten GOPs of this length anyway. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DURATION_US = 12_000_000;
/** More than 240 video and 400 audio frames per second for that time: only a stopped clock produces so many. */
const MAX_PACKETS = 10_000;

/**
 * Audio can start anywhere, but a new subscriber needs some time to set up and must not lose the beginning meanwhile.
 */
const MAX_AUDIO_US = 2_000_000;
const MAX_AUDIO_PACKETS = 500;

export function createGopBuffer({ mostBytes = MAX_BYTES } = {}): GopBuffer {
  let packets: MediaPacket[] = [];
  let bytes = 0;
  let isAudioOnly = false;

  function addAudio(packet: MediaPacket) {
    const from =
      packets.length < MAX_AUDIO_PACKETS ? packets.findIndex(({ dts }) => packet.dts - dts <= MAX_AUDIO_US) : 1;
    packets = [...(from === -1 ? [] : packets.slice(from)), packet];
  }

  return {
    add(packet) {
      if (isAudioOnly) return addAudio(packet);
      if (packet.kind === "video" && packet.key) {
        packets = [];
        bytes = 0;
      } else if (packets.length === 0) return;
      packets.push(packet);
      bytes += packet.data.length;
      if (bytes > mostBytes || packets.length > MAX_PACKETS || packet.dts - packets[0]!.dts > MAX_DURATION_US)
        packets = [];
    },
    packets: () => packets,
    clear({ audioOnly = false } = {}) {
      packets = [];
      isAudioOnly = audioOnly;
    },
  };
}
