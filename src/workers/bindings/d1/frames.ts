import type { Writable } from "node:stream";

/**
 * The protocol between the server and a database process: two lengths (32-bit, big-endian), a JSON header, a body of bytes.
 */
export interface Frame {
  header: Record<string, unknown>;
  body: Buffer;
}

const LENGTHS_BYTES = 8;
const EMPTY = new Uint8Array();

export function writeFrame(channel: Writable, header: Record<string, unknown>, body: Uint8Array = EMPTY): void {
  const head = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.allocUnsafe(LENGTHS_BYTES);
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
  let receivedBytes = 0;
  let requiredBytes = LENGTHS_BYTES;

  return (chunk) => {
    chunks.push(chunk);
    receivedBytes += chunk.length;
    while (receivedBytes >= requiredBytes) {
      const joinedChunks = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, receivedBytes);
      const headLength = joinedChunks.readUInt32BE(0);
      const end = LENGTHS_BYTES + headLength + joinedChunks.readUInt32BE(4);
      if (joinedChunks.length < end) {
        chunks = [joinedChunks];
        requiredBytes = end;
        return;
      }
      onFrame({
        header: JSON.parse(joinedChunks.toString("utf8", LENGTHS_BYTES, LENGTHS_BYTES + headLength)),
        body: joinedChunks.subarray(LENGTHS_BYTES + headLength, end),
      });
      chunks = [joinedChunks.subarray(end)];
      receivedBytes = joinedChunks.length - end;
      requiredBytes = LENGTHS_BYTES;
    }
  };
}
