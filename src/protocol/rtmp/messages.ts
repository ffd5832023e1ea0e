/** An RTMP message (RTMP specification 1.0, 4.1). */
export interface RtmpMessage {
  type: number;
  /** Message stream id: 0 for the connection itself. */
  stream: number;
  /** Milliseconds, modulo 2^32. */
  time: number;
  data: Buffer;
}

/** Message types (5.4, 6.2, 7.1). */
export const MESSAGE = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowSize: 5,
  peerBandwidth: 6,
  audio: 8,
  video: 9,
  dataAmf3: 15,
  commandAmf3: 17,
  data: 18,
  command: 20,
  aggregate: 22,
} as const;

/** User control event types (7.1.7). */
export const USER_CONTROL = { streamBegin: 0, streamEof: 1, pingRequest: 6, pingResponse: 7 } as const;

/** Outgoing chunk streams: one for each purpose, so that chunk headers are independent. Only 2 is fixed (5.3.1.1). */
export const CHUNK_STREAM = { control: 2, command: 3, audio: 4, status: 5, video: 6 } as const;

export function writeU32(...values: number[]): Buffer {
  const bytes = Buffer.allocUnsafe(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32BE(value >>> 0, 4 * i));
  return bytes;
}

/** 7.1.7: an event, and the stream or value that it concerns. */
export function userControl(event: number, about: number): Buffer {
  const bytes = Buffer.allocUnsafe(6);
  bytes.writeUInt16BE(event, 0);
  bytes.writeUInt32BE(about >>> 0, 2);
  return bytes;
}
