import { writePes } from "./pes.ts";
import { type TsCodec, type TsStream, writePat, writePmt } from "./tables.ts";
import { TS_PACKET } from "./demux.ts";

/** Writes a transport stream with one program (ISO 13818-1). */
interface TsMuxer {
  /**
   * Sets the streams, at most one of each kind. Call it first, and again when the streams change. The codec "other" is
   * not allowed.
   */
  streams(codecs: readonly { kind: "video" | "audio"; codec: TsCodec; channels?: number }[]): void;
  /**
   * Writes one video frame, or several audio frames in stream format. Times are in units of 1/90,000 s, starting at 0.
   */
  unit(unit: { kind: "video" | "audio"; pts: number; dts: number; key: boolean; data: Buffer }): void;
}

const MAP_PID = 0x1000;
const PIDS = { video: 0x100, audio: 0x101 } as const;
const STREAM_IDS = { video: 0xe0, audio: 0xc0 } as const;
/** Stream id for private streams such as Opus. */
const PRIVATE_STREAM = 0xbd;
/** Ticks by which the clock precedes the decoding time: the minimum receiver buffer. */
const PCR_LEAD_TICKS = 90_000 / 10;
/** Times start at this value, so that the clock starts above zero. */
const START_OFFSET_TICKS = 90_000;
/** Interval between tables (required at least every 0.5 s) and between clocks (every 0.1 s). */
const TABLE_INTERVAL_TICKS = 90_000 / 4;

/** Creates a multiplexer. `write` receives whole packets of 188 octets, all packets of a unit together. */
export function createTsMuxer(write: (packets: Buffer) => void): TsMuxer {
  const counters = new Map<number, number>();
  let streams: Omit<TsStream, "name">[] = [];
  let version = -1;
  let tablesAt: number | undefined;

  function nextCounter(pid: number): number {
    const next = ((counters.get(pid) ?? 15) + 1) & 15;
    counters.set(pid, next);
    return next;
  }

  function createTablePacket(pid: number, section: Buffer): Buffer {
    const packet = Buffer.alloc(TS_PACKET, 0xff);
    packet.set([0x47, 0x40 | (pid >> 8), pid & 255, 0x10 | nextCounter(pid), 0]);
    section.copy(packet, 5);
    return packet;
  }

  function createTables(): Buffer[] {
    return [
      createTablePacket(0, writePat(MAP_PID, 0)),
      createTablePacket(MAP_PID, writePmt(streams, clockPid(), version)),
    ];
  }

  const clockPid = () => streams[0]?.pid ?? 0x1fff;

  /** Returns the packets of one unit; the first one carries the clock and the random access flag. */
  function packets(pid: number, pes: Buffer, clock: number | undefined, key: boolean): Buffer {
    const first = createAdaptation(clock, key);
    const count = 1 + Math.max(0, Math.ceil((pes.length - (TS_PACKET - 4 - first.length)) / (TS_PACKET - 4)));
    const out = Buffer.alloc(count * TS_PACKET, 0xff);
    for (let i = 0, from = 0; i < count; i++) {
      const at = i * TS_PACKET;
      const field = withStuffing(i === 0 ? first : NOTHING, pes.length - from);
      const size = TS_PACKET - 4 - field.length;
      out[at] = 0x47;
      out[at + 1] = (i === 0 ? 0x40 : 0) | (pid >> 8);
      out[at + 2] = pid & 255;
      out[at + 3] = (field.length > 0 ? 0x30 : 0x10) | nextCounter(pid);
      field.copy(out, at + 4);
      pes.copy(out, at + 4 + field.length, from, from + size);
      from += size;
    }
    return out;
  }

  return {
    streams(codecs) {
      streams = codecs.map(({ kind, codec, channels }) => ({
        pid: PIDS[kind],
        codec,
        ...(channels !== undefined && { channels }),
      }));
      version = (version + 1) & 31;
      tablesAt = undefined;
    },
    unit({ kind, pts, dts, key, data }) {
      const pid = PIDS[kind];
      const stream = streams.find((candidate) => candidate.pid === pid);
      if (stream === undefined) return;
      const isClock = pid === clockPid();
      const areTablesDue =
        tablesAt === undefined || dts - tablesAt >= TABLE_INTERVAL_TICKS || dts < tablesAt || (key && kind === "video");
      if (areTablesDue) tablesAt = dts;
      const pes = writePes(stream.codec === "opus" ? PRIVATE_STREAM : STREAM_IDS[kind], {
        pts: pts + START_OFFSET_TICKS,
        dts: dts + START_OFFSET_TICKS,
        data,
      });
      write(
        Buffer.concat([
          ...(areTablesDue ? createTables() : []),
          packets(pid, pes, isClock ? dts + START_OFFSET_TICKS - PCR_LEAD_TICKS : undefined, key),
        ]),
      );
    },
  };
}

const NOTHING = Buffer.alloc(0);

/**
 * 2.4.3.4: the adaptation field with the clock (27 MHz, as units of 300 and a remainder) and the random access flag.
 */
function createAdaptation(clock: number | undefined, key: boolean): Buffer {
  if (clock === undefined && !key) return NOTHING;
  if (clock === undefined) return Buffer.from([1, 0x40]);
  const base = Math.round(clock) % 2 ** 33;
  const field = Buffer.from([7, (key ? 0x40 : 0) | 0x10, 0, 0, 0, 0, 0x7e, 0]);
  field.writeUInt32BE(Math.floor(base / 2), 2);
  field[6] = ((base % 2) << 7) | 0x7e;
  return field;
}

/** Adds stuffing to the adaptation field, so that the remaining data fills the packet. */
function withStuffing(field: Buffer, payloadLength: number): Buffer {
  const spareBytes = TS_PACKET - 4 - field.length - payloadLength;
  if (spareBytes <= 0) return field;
  if (field.length === 0)
    return spareBytes === 1
      ? Buffer.from([0])
      : Buffer.concat([Buffer.from([spareBytes - 1, 0]), Buffer.alloc(spareBytes - 2, 0xff)]);
  const padded = Buffer.concat([field, Buffer.alloc(spareBytes, 0xff)]);
  padded[0] = padded.length - 1;
  return padded;
}
