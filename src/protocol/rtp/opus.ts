/**
 * Clock rate of Opus in RTP (RFC 7587): 48,000 ticks per second at any sample rate. Each payload is one Opus packet.
 */
export const OPUS_RATE = 48_000;

/** Returns the duration of a packet in samples at 48,000 Hz (RFC 6716, 3.1 and 3.2); 0 if it is invalid. */
export function opusSamples(packet: Buffer): number {
  const toc = packet[0];
  if (toc === undefined) return 0;
  const config = toc >> 3;
  const frame =
    config < 12
      ? [480, 960, 1920, 2880][config & 3]!
      : config < 16
        ? [480, 960][config & 1]!
        : [120, 240, 480, 960][config & 3]!;
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (packet[1] ?? 0) & 63;
  const samples = frame * frames;
  // A packet lasts at most 120 ms.
  return samples > 5760 ? 0 : samples;
}

/** OpusHead (RFC 7845, 5.1) for one or two channels. */
export function writeOpusHead({ channels, preSkip }: { channels: number; preSkip: number }): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead", "latin1");
  head[8] = 1;
  head[9] = channels;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(OPUS_RATE, 12);
  return head;
}
