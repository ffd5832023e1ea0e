import { createChunkReader, FIRST_CHUNK_SIZE } from "./chunks-read.ts";
import { encodeMessage } from "./chunks-write.ts";
import { createHandshake } from "./handshake.ts";
import { CHUNK_STREAM, MESSAGE, type RtmpMessage, u32, USER_CONTROL, userControl } from "./messages.ts";
import { RtmpViolation } from "./violation.ts";

/** One side of a connection, without the socket: octets go in and out. */
export interface RtmpPeer {
  /** What is to be sent first of all. */
  opening(): void;
  /**
   * Messages that are not of the protocol itself: commands, data, sound and pictures, read as they are asked for. Chunk sizes, acknowledgements and pings
   * are done with. All of them are to be taken before the next octets come, and until then `bytes` may not change. Both throw RtmpViolation, after which nothing
   * more is to be asked for.
   */
  push(bytes: Buffer): IterableIterator<RtmpMessage>;
  /** `head`: what its payload begins with, before `data`. */
  send(chunkStream: number, message: RtmpMessage, head?: Buffer): void;
  /** Protocol control (5.4): windows, bandwidth, what happened to a stream. */
  control(type: number, data: Buffer): void;
  /** From now on what we send comes in chunks of so many octets. */
  setChunkSize(octets: number): void;
  /** Octets of one message, and of all that are begun, that are taken from now on. */
  setMost(octets: number): void;
  readonly greeted: boolean;
}

export interface RtmpPeerOptions {
  role: "server" | "client";
  /** As `setMost`, until then. */
  most: number;
  /** Pieces, in this order. */
  write(pieces: readonly Buffer[]): void;
}

const NOTHING = Buffer.alloc(0);

export function createRtmpPeer({ role, most, write }: RtmpPeerOptions): RtmpPeer {
  const reader = createChunkReader({ most });
  const handshake = createHandshake(role);
  /** Of what came last. */
  let read = reader.push(NOTHING);
  let greeted = false;
  let chunkSize = FIRST_CHUNK_SIZE;
  /** Octets after which the other side wants to hear how many came (5.4.4); how many came, and were told. */
  let window = 0;
  let received = 0;
  let acknowledged = 0;

  const control = (type: number, data: Buffer) =>
    write(encodeMessage(CHUNK_STREAM.control, { type, stream: 0, time: 0, data }, chunkSize));

  function greet(bytes: Buffer): Buffer | undefined {
    const { send, rest } = handshake.push(bytes);
    if (send !== undefined) write([send]);
    greeted = rest !== undefined;
    return rest;
  }

  /** True: it was of the protocol itself. */
  function handled({ type, data }: RtmpMessage): boolean {
    switch (type) {
      case MESSAGE.setChunkSize:
        // The first bit is zero (5.4.1).
        reader.setChunkSize(number(data) & 0x7fffffff);
        return true;
      case MESSAGE.abort:
        reader.abort(number(data));
        return true;
      case MESSAGE.windowSize:
        window = number(data);
        return true;
      case MESSAGE.userControl:
        if (data.length >= 6 && data.readUInt16BE(0) === USER_CONTROL.pingRequest)
          control(MESSAGE.userControl, userControl(USER_CONTROL.pingResponse, data.readUInt32BE(2)));
        return true;
      case MESSAGE.acknowledgement:
      case MESSAGE.peerBandwidth:
        return true;
      default:
        return false;
    }
  }

  function acknowledge() {
    if (window === 0 || received - acknowledged < window) return;
    acknowledged = received;
    control(MESSAGE.acknowledgement, u32(received));
  }

  const messages: IterableIterator<RtmpMessage> = {
    next() {
      for (;;) {
        const next = read.next();
        if (next.done) acknowledge();
        if (next.done || !handled(next.value)) return next;
      }
    },
    [Symbol.iterator]: () => messages,
  };

  return {
    opening() {
      if (handshake.opening.length > 0) write([handshake.opening]);
    },
    push(bytes) {
      const chunks = greeted ? bytes : greet(bytes);
      if (chunks !== undefined) received += bytes.length;
      read = reader.push(chunks ?? NOTHING);
      return messages;
    },
    send: (chunkStream, message, head) => write(encodeMessage(chunkStream, message, chunkSize, head)),
    control,
    setChunkSize(octets) {
      control(MESSAGE.setChunkSize, u32(octets));
      chunkSize = octets;
    },
    setMost: reader.setMost,
    get greeted() {
      return greeted;
    },
  };
}

function number(data: Buffer): number {
  if (data.length < 4) throw new RtmpViolation("a message of the protocol is cut off");
  return data.readUInt32BE(0);
}
