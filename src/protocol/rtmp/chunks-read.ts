import type { RtmpMessage } from "./messages.ts";
import { RtmpViolation } from "./violation.ts";

interface ChunkReader {
  /**
   * Yields the complete messages lazily: the caller must consume all of them before pushing more octets, and must not
   * change `bytes` until then. Throws RtmpViolation, after which the reader must not be used.
   */
  push(bytes: Buffer): IterableIterator<RtmpMessage>;
  /** Sets the size of subsequent chunks (5.4.1). */
  setChunkSize(octets: number): void;
  /** Discards a partial message (5.4.2). */
  abort(chunkStream: number): void;
  /** Sets the maximum size of one message, and of all incomplete messages together. */
  setMaxMessageSize(octets: number): void;
}

interface ChunkStream {
  time: number;
  /** Added to the time by the next message that has no time of its own. */
  delta: number;
  length: number;
  type: number;
  stream: number;
  /** True if `delta` was an extended timestamp. */
  extended: boolean;
  /** The message being read; undefined between messages. */
  data: Buffer | undefined;
  filled: number;
}

/** Size of message headers in octets, indexed by format (5.3.1.2). */
const MESSAGE_HEADER_BYTES = [11, 7, 3, 0] as const;
const EXTENDED_TIMESTAMP = 0xffffff;
/** Maximum number of chunk streams; publishers use three to six. */
const MAX_STREAMS = 64;
export const DEFAULT_CHUNK_SIZE = 128;
const NOTHING = Buffer.alloc(0);

/**
 * Reassembles messages from chunks (5.3), which may be interleaved. Payload is copied directly to its destination;
 * apart from incomplete messages, only an incomplete header of up to 18 octets is buffered.
 */
export function createRtmpChunkReader({ maxMessageSize }: { maxMessageSize: number }): ChunkReader {
  const streams = new Map<number, ChunkStream>();
  let chunkSize = DEFAULT_CHUNK_SIZE;
  let bufferedOctets = 0;
  /** Current input and read position. */
  let bytes: Buffer = NOTHING;
  let at = 0;
  /** Inside a chunk: its chunk stream and the number of missing octets. */
  let current: ChunkStream | undefined;
  let missingBytes = 0;

  /** Reads a chunk header. Returns false if it is incomplete. */
  function readChunkHeader(): boolean {
    const remainingBytes = bytes.length - at;
    if (remainingBytes === 0) return false;
    const format = bytes[at]! >> 6;
    const shortId = bytes[at]! & 63;
    const basicHeaderBytes = shortId === 0 ? 2 : shortId === 1 ? 3 : 1;
    let size = basicHeaderBytes + MESSAGE_HEADER_BYTES[format as 0 | 1 | 2 | 3];
    if (remainingBytes < size) return false;
    const id = shortId > 1 ? shortId : shortId === 0 ? 64 + bytes[at + 1]! : 64 + bytes.readUInt16LE(at + 1);
    const knownStream = streams.get(id);
    const from = at + basicHeaderBytes;
    let delta = format < 3 ? readU24(from) : 0;
    const extended = format < 3 ? delta === EXTENDED_TIMESTAMP : (knownStream?.extended ?? false);
    if (extended) {
      if (remainingBytes < size + 4) return false;
      const extension = bytes.readUInt32BE(at + size);
      // Some senders omit the extended timestamp in type 3 chunks: it is present if the octets have the same value.
      if (format < 3 || extension === knownStream!.delta) size += 4;
      delta = extension;
    }
    const stream = knownStream ?? openChunkStream(id, format);
    if (format < 2) {
      stream.length = readU24(from + 3);
      stream.type = bytes[from + 6]!;
      if (format === 0) stream.stream = bytes.readUInt32LE(from + 7);
    }
    at += size;
    if (format < 3) {
      stream.extended = extended;
      stream.delta = delta;
    }
    if (format < 3 || stream.data === undefined) beginMessage(stream, format);
    current = stream;
    missingBytes = Math.min(chunkSize, stream.length - stream.filled);
    return true;
  }

  const readU24 = (from: number) => (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;

  function openChunkStream(id: number, format: number): ChunkStream {
    if (format !== 0 && format !== 1)
      throw new RtmpViolation("the first chunk of a chunk stream refers to one before it");
    if (streams.size >= MAX_STREAMS) throw new RtmpViolation(`there are more than ${MAX_STREAMS} chunk streams`);
    const createdStream: ChunkStream = {
      time: 0,
      delta: 0,
      length: 0,
      type: 0,
      stream: 0,
      extended: false,
      data: undefined,
      filled: 0,
    };
    streams.set(id, createdStream);
    return createdStream;
  }

  function beginMessage(stream: ChunkStream, format: number) {
    drop(stream);
    // A type 3 chunk after type 0 repeats its timestamp as a delta (5.3.1.2.4).
    stream.time = format === 0 ? stream.delta : (stream.time + stream.delta) >>> 0;
    if (stream.length > maxMessageSize - bufferedOctets)
      throw new RtmpViolation(`a message has ${stream.length} octets; the maximum is ${maxMessageSize}`);
    bufferedOctets += stream.length;
    stream.data = Buffer.allocUnsafe(stream.length);
  }

  function drop(stream: ChunkStream) {
    if (stream.data !== undefined) bufferedOctets -= stream.data.length;
    stream.data = undefined;
    stream.filled = 0;
  }

  /** Returns the next complete message. */
  function read(): RtmpMessage | undefined {
    for (;;) {
      if (current === undefined && !readChunkHeader()) {
        // Keeps a header that is split across two reads.
        bytes = at === bytes.length ? NOTHING : Buffer.from(bytes.subarray(at));
        at = 0;
        return undefined;
      }
      const stream = current!;
      // An abort can only arrive between chunks, so the data exists here.
      const data = stream.data!;
      const octets = Math.min(missingBytes, bytes.length - at);
      bytes.copy(data, stream.filled, at, at + octets);
      at += octets;
      missingBytes -= octets;
      stream.filled += octets;
      if (missingBytes > 0) {
        bytes = NOTHING;
        at = 0;
        return undefined;
      }
      current = undefined;
      if (stream.filled < data.length) continue;
      drop(stream);
      return { type: stream.type, stream: stream.stream, time: stream.time, data };
    }
  }

  const messages: IterableIterator<RtmpMessage> = {
    next() {
      const value = read();
      return value === undefined ? { done: true, value } : { done: false, value };
    },
    [Symbol.iterator]: () => messages,
  };

  return {
    push(more) {
      bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
      return messages;
    },
    setChunkSize(octets) {
      if (octets < 1) throw new RtmpViolation(`invalid chunk size: ${octets}`);
      chunkSize = octets;
    },
    abort(chunkStream) {
      const stream = streams.get(chunkStream);
      if (stream !== undefined) drop(stream);
    },
    setMaxMessageSize: (octets) => void (maxMessageSize = octets),
  };
}
