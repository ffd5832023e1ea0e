import type { Writable } from "node:stream";

/**
 * The protocol between the server and a host process: two lengths (32-bit, big-endian), a JSON header, a body of bytes.
 */
export interface Frame {
  header: Record<string, unknown>;
  body: Buffer;
}

const LENGTHS = 8;
const EMPTY = new Uint8Array();

export function writeFrame(channel: Writable, header: Record<string, unknown>, body: Uint8Array = EMPTY): void {
  const head = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.allocUnsafe(LENGTHS);
  lengths.writeUInt32BE(head.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  // Corked, so that all three leave in one system call.
  channel.cork();
  channel.write(lengths);
  channel.write(head);
  if (body.length > 0) channel.write(body);
  channel.uncork();
}

/**
 * Accepts incoming data and calls `onFrame` for every complete frame. Both ends belong to this program, so frames are
 * not validated.
 */
export function createFrameReader(onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let have = 0;
  let need = LENGTHS;

  return (chunk) => {
    chunks.push(chunk);
    have += chunk.length;
    while (have >= need) {
      const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, have);
      const headLength = all.readUInt32BE(0);
      const end = LENGTHS + headLength + all.readUInt32BE(4);
      if (all.length < end) {
        chunks = [all];
        need = end;
        return;
      }
      onFrame({
        header: JSON.parse(all.toString("utf8", LENGTHS, LENGTHS + headLength)),
        body: all.subarray(LENGTHS + headLength, end),
      });
      chunks = [all.subarray(end)];
      have = all.length - end;
      need = LENGTHS;
    }
  };
}
