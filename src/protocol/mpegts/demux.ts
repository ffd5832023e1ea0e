import { createTimestampUnwrapper, pesSize, readPes } from "./pes.ts";
import { createSectionReader, readPat, readPmt, type TsStream } from "./tables.ts";

/** Streaming demultiplexer of a transport stream (ISO 13818-1). */
interface TsDemuxer {
  /** Accepts chunks of any length. */
  write(bytes: Buffer): void;
  /** Emits the complete data of the last frames. */
  end(): void;
}

interface TsHandlers {
  /** Streams of the program, at the start and after every change. */
  streams(streams: TsStream[]): void;
  /** One packet of an announced stream. Times are in units of 1/90,000 s and do not wrap. */
  unit(unit: TsUnit): void;
}

export interface TsUnit {
  stream: TsStream;
  pts: number;
  dts: number;
  data: Buffer;
}

export const TS_PACKET = 188;
const SYNC_BYTE = 0x47;
/** Maximum size of a frame in octets, more than any accepted level of H.264 allows. */
const MAX_PES_BYTES = 8 * 1024 * 1024;
/**
 * Maximum number of packets buffered for all streams together, however small: a program map may list two hundred
 * streams.
 */
const MAX_BUFFERED_PACKETS = 100_000;

interface Gathering {
  stream: TsStream;
  parts: Buffer[];
  size: number;
  /** Expected length; 0 if unknown. */
  expectedSize: number;
  counter: number | undefined;
  /** True if nothing has been collected yet, or some of it is missing. */
  broken: boolean;
}

/** Creates a demultiplexer that drops damaged data: an incomplete frame is not emitted. */
export function createTsDemuxer({ streams: onStreams, unit }: TsHandlers): TsDemuxer {
  const unwrap = createTimestampUnwrapper();
  const gatherings = new Map<number, Gathering>();
  const patReader = createSectionReader(onPat);
  let map = createSectionReader(onMap);
  let mapPid: number | undefined;
  let lastReported = "";
  let bufferedPackets = 0;
  let rest: Buffer = Buffer.alloc(0);

  function onPat(section: Buffer) {
    const pid = readPat(section);
    if (pid === undefined || pid === mapPid) return;
    mapPid = pid;
    map = createSectionReader(onMap);
  }

  function onMap(section: Buffer) {
    const streams = readPmt(section);
    if (streams === undefined) return;
    const text = JSON.stringify(streams);
    if (text === lastReported) return;
    lastReported = text;
    finishAll();
    gatherings.clear();
    for (const stream of streams)
      if (stream.codec !== "data")
        gatherings.set(stream.pid, { stream, parts: [], size: 0, expectedSize: 0, counter: undefined, broken: true });
    onStreams(streams);
  }

  function finishPes(gathering: Gathering) {
    const { stream, parts, broken } = gathering;
    bufferedPackets -= parts.length;
    gathering.parts = [];
    gathering.size = 0;
    gathering.broken = true;
    if (broken || parts.length === 0) return;
    const pes = readPes(Buffer.concat(parts));
    // A packet without a time cannot be placed, and broadcasts always specify it.
    if (pes?.pts === undefined || pes.dts === undefined || pes.data.length === 0) return;
    const dts = unwrap(pes.dts);
    const ptsOffset = (pes.pts - pes.dts + 2 ** 33) % 2 ** 33;
    unit({ stream, dts, pts: ptsOffset < 2 ** 32 ? dts + ptsOffset : dts, data: pes.data });
  }

  function finishAll() {
    // A packet that is shorter than its declared length is incomplete.
    for (const gathering of gatherings.values()) {
      if (gathering.expectedSize > gathering.size) gathering.broken = true;
      finishPes(gathering);
    }
  }

  function appendPayload(
    gathering: Gathering,
    payload: Buffer,
    isUnitStart: boolean,
    counter: number,
    hasDiscontinuity: boolean,
  ) {
    if (counter === gathering.counter && !hasDiscontinuity) return;
    const isContinuous =
      gathering.counter === undefined || hasDiscontinuity || counter === ((gathering.counter + 1) & 15);
    gathering.counter = counter;
    if (!isContinuous) gathering.broken = true;
    if (isUnitStart) {
      if (gathering.expectedSize > gathering.size) gathering.broken = true;
      finishPes(gathering);
      gathering.broken = false;
      gathering.expectedSize = pesSize(payload) ?? 0;
    }
    if (gathering.broken) return;
    gathering.parts.push(payload);
    gathering.size += payload.length;
    bufferedPackets++;
    if (gathering.size > MAX_PES_BYTES || bufferedPackets > MAX_BUFFERED_PACKETS) {
      gathering.broken = true;
      bufferedPackets -= gathering.parts.length;
      gathering.parts = [];
    }
    if (gathering.expectedSize > 0 && gathering.size >= gathering.expectedSize) finishPes(gathering);
  }

  function readPacket(bytes: Buffer) {
    const flags = bytes[1]!;
    const [isUnitStart, pid] = [(flags & 0x40) !== 0, ((flags & 31) << 8) | bytes[2]!];
    const control = bytes[3]!;
    // Damaged before it reached the sender, encrypted, or without a payload.
    if ((flags & 0x80) !== 0 || (control & 0xc0) !== 0 || (control & 0x10) === 0) return;
    const adaptation = (control & 0x20) === 0 ? 0 : 1 + bytes[4]!;
    if (4 + adaptation >= TS_PACKET) return;
    const payload = bytes.subarray(4 + adaptation);
    if (pid === 0) return patReader(payload, isUnitStart);
    if (pid === mapPid) return map(payload, isUnitStart);
    const gathering = gatherings.get(pid);
    if (gathering !== undefined)
      appendPayload(gathering, payload, isUnitStart, control & 15, adaptation > 1 && (bytes[5]! & 0x80) !== 0);
  }

  return {
    write(chunk) {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      while (at + TS_PACKET <= bytes.length) {
        if (bytes[at] === SYNC_BYTE) {
          readPacket(bytes.subarray(at, at + TS_PACKET));
          at += TS_PACKET;
        } else {
          const next = bytes.indexOf(SYNC_BYTE, at + 1);
          at = next === -1 ? bytes.length : next;
        }
      }
      bytes = bytes.subarray(at);
      rest = bytes.length === 0 ? bytes : Buffer.from(bytes);
    },
    end: finishAll,
  };
}
