/**
 * Opus in a transport stream: each packet is preceded by its length (ETSI TS 103 491 and the mapping used by ffmpeg and
 * OBS).
 */
interface OpusPacket {
  data: Buffer;
  /** Duration in samples at 48,000 Hz. */
  samples: number;
}

const CONTROL_PREFIX = 0x3ff;

/** Returns the Opus packets in one PES packet. Stops at a malformed packet. */
export function readOpus(bytes: Buffer): OpusPacket[] {
  const packets: OpusPacket[] = [];
  for (let at = 0; at + 3 <= bytes.length && bytes.readUInt16BE(at) >> 5 === CONTROL_PREFIX;) {
    const flags = bytes[at + 1]!;
    at += 2;
    let size = 0;
    while (bytes[at] === 255) size += bytes[at++]!;
    size += bytes[at++] ?? 0;
    if ((flags & 0x10) !== 0) at += 2;
    if ((flags & 0x08) !== 0) at += 2;
    if ((flags & 0x04) !== 0) at += 1 + (bytes[at] ?? 0);
    if (size === 0 || at + size > bytes.length) break;
    const data = bytes.subarray(at, at + size);
    packets.push({ data, samples: sampleCountOf(data) });
    at += size;
  }
  return packets;
}

/** Returns the header of one packet. */
export function opusHeader(octets: number): Buffer {
  const sizes = Buffer.alloc(Math.floor(octets / 255) + 1, 255);
  sizes[sizes.length - 1] = octets % 255;
  return Buffer.concat([Buffer.from([0x7f, 0xe0]), sizes]);
}

/** Returns the duration of a packet (RFC 6716, 3.1) in samples at 48,000 Hz. */
function sampleCountOf(packet: Buffer): number {
  const first = packet[0] ?? 0;
  const config = first >> 3;
  const frameSamples =
    config < 12
      ? [480, 960, 1920, 2880][config & 3]!
      : config < 16
        ? [480, 960][config & 1]!
        : [120, 240, 480, 960][config & 3]!;
  const code = first & 3;
  return frameSamples * (code === 0 ? 1 : code === 3 ? (packet[1] ?? 0) & 63 : 2);
}

/** Returns the decoder configuration (RFC 7845, 5.1) for up to two channels. */
export function opusHead(channels: number): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead", 0, "latin1");
  head[8] = 1;
  head[9] = channels;
  head.writeUInt32LE(48_000, 12);
  return head;
}
