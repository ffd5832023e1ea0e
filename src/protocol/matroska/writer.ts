/**
 * A Matroska stream (RFC 9559) for a program that reads it while it is being written, so its duration is not declared.
 */
interface MatroskaWriter {
  /** Returns everything before the first block. */
  header(): Buffer;
  /** Returns one frame. `time`: presentation time in microseconds, starting at 0. `track`: starting at 1. */
  block(track: number, time: number, key: boolean, data: Buffer): Buffer[];
}

export type MatroskaTrack = {
  /** Codec id, such as "V_MPEG4/ISO/AVC" or "A_OPUS" (RFC 9559, section 6 and the codec mappings). */
  codec: string;
  /** CodecPrivate; empty if there is none. */
  config: Buffer;
} & ({ kind: "video"; width: number; height: number } | { kind: "audio"; sampleRate: number; channels: number });

const ID = {
  ebml: 0x1a45dfa3,
  version: 0x4286,
  readVersion: 0x42f7,
  maxId: 0x42f2,
  maxSize: 0x42f3,
  docType: 0x4282,
  docVersion: 0x4287,
  docReadVersion: 0x4285,
  segment: 0x18538067,
  info: 0x1549a966,
  scale: 0x2ad7b1,
  muxer: 0x4d80,
  writer: 0x5741,
  tracks: 0x1654ae6b,
  track: 0xae,
  number: 0xd7,
  uid: 0x73c5,
  type: 0x83,
  lacing: 0x9c,
  codec: 0x86,
  private: 0x63a2,
  video: 0xe0,
  width: 0xb0,
  height: 0xba,
  audio: 0xe1,
  rate: 0xb5,
  channels: 0x9f,
  cluster: 0x1f43b675,
  time: 0xe7,
  block: 0xa3,
};
/** Unknown size, in eight octets (RFC 8794, 6.2). */
const UNKNOWN_SIZE = Buffer.from("01ffffffffffffff", "hex");
/** Nanoseconds per tick: with microsecond ticks, times are exact. */
const TIMESTAMP_SCALE = 1000;
const KEY_FRAME_FLAG = 0x80;

function idOf(id: number): Buffer {
  const octets = id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1;
  const bytes = Buffer.alloc(octets);
  bytes.writeUIntBE(id, 0, octets);
  return bytes;
}

/** Encodes a size, always in eight octets. */
function sizeOf(size: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE((1n << 56n) | BigInt(size));
  return bytes;
}

const element = (id: number, ...children: Uint8Array[]): Buffer =>
  Buffer.concat([idOf(id), sizeOf(children.reduce((sum, { length }) => sum + length, 0)), ...children]);

function uint(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return element(id, bytes);
}

const text = (id: number, value: string) => element(id, Buffer.from(value, "utf8"));

function float(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return element(id, bytes);
}

function trackEntry(track: MatroskaTrack, number: number): Buffer {
  const media =
    track.kind === "video"
      ? element(ID.video, uint(ID.width, track.width), uint(ID.height, track.height))
      : element(ID.audio, float(ID.rate, track.sampleRate), uint(ID.channels, track.channels));
  const config = track.config.length > 0 ? [element(ID.private, track.config)] : [];
  return element(
    ID.track,
    uint(ID.number, number),
    uint(ID.uid, number),
    uint(ID.type, track.kind === "video" ? 1 : 2),
    uint(ID.lacing, 0),
    text(ID.codec, track.codec),
    ...config,
    media,
  );
}

/** Accepts at most 126 tracks, since track numbers occupy one octet. */
export function createMatroskaWriter(tracks: readonly MatroskaTrack[]): MatroskaWriter {
  return {
    header: () =>
      Buffer.concat([
        element(
          ID.ebml,
          uint(ID.version, 1),
          uint(ID.readVersion, 1),
          uint(ID.maxId, 4),
          uint(ID.maxSize, 8),
          text(ID.docType, "matroska"),
          uint(ID.docVersion, 4),
          uint(ID.docReadVersion, 2),
        ),
        idOf(ID.segment),
        UNKNOWN_SIZE,
        element(ID.info, uint(ID.scale, TIMESTAMP_SCALE), text(ID.muxer, "reelpost"), text(ID.writer, "reelpost")),
        element(ID.tracks, ...tracks.map((track, i) => trackEntry(track, i + 1))),
      ]),
    // Writes one cluster per block: times within a cluster have 16 bits, which is a short time in microseconds. The
    // size is known, so that a reader passes the block on as soon as it arrives.
    block(track, time, key, data) {
      const head = Buffer.from([0x80 | track, 0, 0, key ? KEY_FRAME_FLAG : 0]);
      const blockHead = Buffer.concat([
        uint(ID.time, Math.max(0, Math.round(time))),
        idOf(ID.block),
        sizeOf(head.length + data.length),
        head,
      ]);
      return [Buffer.concat([idOf(ID.cluster), sizeOf(blockHead.length + data.length), blockHead]), data];
    },
  };
}
