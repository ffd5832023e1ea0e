import type { Writable } from "node:stream";

/** Between the server and a host process: two lengths (32-bit, big-endian), a header as JSON, a body as bytes. */
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
  // Corked, the three leave in one system call.
  channel.cork();
  channel.write(lengths);
  channel.write(head);
  if (body.length > 0) channel.write(body);
  channel.uncork();
}

/** Feed it what arrives; it calls `onFrame` for every frame that is complete. Both ends are ours, so what is read is not checked again. */
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
