import type { MediaPacket } from "../packets.ts";

/** Everything from the last key frame on, for those who come in the middle of it. */
export interface PictureGroup {
  add(packet: MediaPacket): void;
  /** Empty where it became too large to be kept: then one begins with the next key frame. */
  packets(): readonly MediaPacket[];
  /** `sound`: no pictures come. */
  clear(options?: { sound?: boolean }): void;
}

/** A group is let go beyond these; the publishers of groups that long are told to make shorter ones anyway. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_MICROSECONDS = 12_000_000;
/** More than 240 pictures and 400 frames of sound a second are in that time: so many come where the clock does not go on. */
const MOST_PACKETS = 10_000;

/** Sound can begin anywhere; but who takes up a broadcast has something else to do first, and its beginning is not to be lost meanwhile. */
const MOST_SOUND_MICROSECONDS = 2_000_000;
const MOST_SOUNDS = 500;

export function createPictureGroup({ mostBytes = MOST_BYTES } = {}): PictureGroup {
  let packets: MediaPacket[] = [];
  let bytes = 0;
  let onlySound = false;

  function addSound(packet: MediaPacket) {
    const from =
      packets.length < MOST_SOUNDS ? packets.findIndex(({ dts }) => packet.dts - dts <= MOST_SOUND_MICROSECONDS) : 1;
    packets = [...(from === -1 ? [] : packets.slice(from)), packet];
  }

  return {
    add(packet) {
      if (onlySound) return addSound(packet);
      if (packet.kind === "video" && packet.key) {
        packets = [];
        bytes = 0;
      } else if (packets.length === 0) return;
      packets.push(packet);
      bytes += packet.data.length;
      if (bytes > mostBytes || packets.length > MOST_PACKETS || packet.dts - packets[0]!.dts > MOST_MICROSECONDS)
        packets = [];
    },
    packets: () => packets,
    clear({ sound = false } = {}) {
      packets = [];
      onlySound = sound;
    },
  };
}
