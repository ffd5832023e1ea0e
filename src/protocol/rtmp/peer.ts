import { createRtmpChunkReader, DEFAULT_CHUNK_SIZE } from "./chunks-read.ts";
import { encodeMessage } from "./chunks-write.ts";
import { createHandshake } from "./handshake.ts";
import { CHUNK_STREAM, MESSAGE, type RtmpMessage, writeU32, USER_CONTROL, userControl } from "./messages.ts";
import { RtmpViolation } from "./violation.ts";

/** One side of an RTMP connection, without the socket. */
export interface RtmpPeer {
  /** Sends the first octets of the handshake. */
  startHandshake(): void;
  /**
   * Lazily yields messages above the protocol level: commands, data, audio and video. Chunk sizes, acknowledgements and
   * pings are handled internally. The caller must consume all messages before pushing more octets, and must not change
   * `bytes` until then. The call and the iterator both throw RtmpViolation, after which the peer must not be used.
   */
  push(bytes: Buffer): IterableIterator<RtmpMessage>;
  /** `head` precedes `data` in the payload. */
  send(chunkStream: number, message: RtmpMessage, head?: Buffer): void;
  /** Sends protocol control messages (5.4): windows, bandwidth, stream events. */
  control(type: number, data: Buffer): void;
  /** Sets the size of outgoing chunks. */
  setChunkSize(octets: number): void;
  /** Sets the maximum size of one message, and of all incomplete messages together. */
  setMaxMessageSize(octets: number): void;
  readonly isHandshakeComplete: boolean;
}

interface RtmpPeerOptions {
  role: "server" | "client";
  /** Initial value of `setMaxMessageSize`. */
  maxMessageSize: number;
  /** Writes the buffers in order. */
  write(pieces: readonly Buffer[]): void;
}

const NOTHING = Buffer.alloc(0);

export function createRtmpPeer({ role, maxMessageSize, write }: RtmpPeerOptions): RtmpPeer {
  const reader = createRtmpChunkReader({ maxMessageSize });
  const handshake = createHandshake(role);
  /** Iterator over the latest input. */
  let read = reader.push(NOTHING);
  let hasGreeted = false;
  let chunkSize = DEFAULT_CHUNK_SIZE;
  /**
   * Number of octets after which the peer expects an acknowledgement (5.4.4), received so far, and acknowledged so far.
   */
  let window = 0;
  let receivedOctets = 0;
  let acknowledgedOctets = 0;

  const sendControl = (type: number, data: Buffer) =>
    write(encodeMessage(CHUNK_STREAM.control, { type, stream: 0, time: 0, data }, chunkSize));

  function receiveHandshake(bytes: Buffer): Buffer | undefined {
    const { send, rest } = handshake.push(bytes);
    if (send !== undefined) write([send]);
    hasGreeted = rest !== undefined;
    return rest;
  }

  /** Returns true if it was a protocol message. */
  function handleProtocolMessage({ type, data }: RtmpMessage): boolean {
    switch (type) {
      case MESSAGE.setChunkSize:
        // The first bit is zero (5.4.1).
        reader.setChunkSize(readNumber(data) & 0x7fffffff);
        return true;
      case MESSAGE.abort:
        reader.abort(readNumber(data));
        return true;
      case MESSAGE.windowSize:
        window = readNumber(data);
        return true;
      case MESSAGE.userControl:
        if (data.length >= 6 && data.readUInt16BE(0) === USER_CONTROL.pingRequest)
          sendControl(MESSAGE.userControl, userControl(USER_CONTROL.pingResponse, data.readUInt32BE(2)));
        return true;
      case MESSAGE.acknowledgement:
      case MESSAGE.peerBandwidth:
        return true;
      default:
        return false;
    }
  }

  function acknowledge() {
    if (window === 0 || receivedOctets - acknowledgedOctets < window) return;
    acknowledgedOctets = receivedOctets;
    sendControl(MESSAGE.acknowledgement, writeU32(receivedOctets));
  }

  const messages: IterableIterator<RtmpMessage> = {
    next() {
      for (;;) {
        const next = read.next();
        if (next.done) acknowledge();
        if (next.done || !handleProtocolMessage(next.value)) return next;
      }
    },
    [Symbol.iterator]: () => messages,
  };

  return {
    startHandshake() {
      if (handshake.opening.length > 0) write([handshake.opening]);
    },
    push(bytes) {
      const chunks = hasGreeted ? bytes : receiveHandshake(bytes);
      if (chunks !== undefined) receivedOctets += bytes.length;
      read = reader.push(chunks ?? NOTHING);
      return messages;
    },
    send: (chunkStream, message, head) => write(encodeMessage(chunkStream, message, chunkSize, head)),
    control: sendControl,
    setChunkSize(octets) {
      sendControl(MESSAGE.setChunkSize, writeU32(octets));
      chunkSize = octets;
    },
    setMaxMessageSize: reader.setMaxMessageSize,
    get isHandshakeComplete() {
      return hasGreeted;
    },
  };
}

function readNumber(data: Buffer): number {
  if (data.length < 4) throw new RtmpViolation("truncated protocol control message");
  return data.readUInt32BE(0);
}
