import { crc32 } from "./crc.ts";

/** Streams of a program in a transport stream (ISO 13818-1, 2.4.4). */
export interface TsStream {
  pid: number;
  codec: TsCodec;
  /** Common name of a stream whose `codec` is "other". */
  name: string;
  /** Number of Opus channels. */
  channels?: number;
}

export type TsCodec = "h264" | "hevc" | "aac" | "mp3" | "opus" | "other video" | "other audio" | "data";

const PAT = 0;
const PMT = 2;
/** 2.4.4.1: a section of these tables has at most 1021 octets after its length field. */
const MAX_SECTION_BYTES = 1024;

/** Reassembles sections from the payloads of one PID; emits only complete ones with a valid CRC. */
export function createSectionReader(
  onSection: (section: Buffer) => void,
): (payload: Buffer, isUnitStart: boolean) => void {
  let sectionBytes = Buffer.alloc(0);

  function cutSections() {
    while (sectionBytes.length >= 3 && sectionBytes[0] !== 0xff) {
      const size = 3 + (sectionBytes.readUInt16BE(1) & 0x0fff);
      if (size > MAX_SECTION_BYTES) return void (sectionBytes = Buffer.alloc(0));
      if (sectionBytes.length < size) return;
      const section = sectionBytes.subarray(0, size);
      sectionBytes = sectionBytes.subarray(size);
      if (size >= 12 && crc32(section) === 0) onSection(section);
    }
    sectionBytes = Buffer.alloc(0);
  }

  return (payload, isUnitStart) => {
    if (isUnitStart) {
      const pointer = payload[0] ?? 0;
      if (sectionBytes.length > 0) {
        sectionBytes = Buffer.concat([sectionBytes, payload.subarray(1, 1 + pointer)]);
        cutSections();
      }
      sectionBytes = Buffer.from(payload.subarray(1 + pointer));
    } else if (sectionBytes.length > 0 && sectionBytes.length < MAX_SECTION_BYTES)
      sectionBytes = Buffer.concat([sectionBytes, payload]);
    cutSections();
  };
}

/** Returns the PID of the first program's map in an association table; undefined if there is none. */
export function readPat(section: Buffer): number | undefined {
  if (section[0] !== PAT) return undefined;
  for (let at = 8; at + 4 <= section.length - 4; at += 4)
    if (section.readUInt16BE(at) !== 0) return section.readUInt16BE(at + 2) & 0x1fff;
  return undefined;
}

const STREAM_TYPES: Record<number, readonly [TsCodec, string]> = {
  0x01: ["other video", "MPEG-1 video"],
  0x02: ["other video", "MPEG-2 video"],
  0x03: ["mp3", "MPEG audio"],
  0x04: ["mp3", "MPEG audio"],
  0x0f: ["aac", "AAC"],
  0x10: ["other video", "MPEG-4 part 2"],
  0x11: ["other audio", "AAC in LATM"],
  0x1b: ["h264", "H.264"],
  0x24: ["hevc", "HEVC"],
  0x33: ["other video", "VVC"],
  0x81: ["other audio", "AC-3"],
  0x82: ["other audio", "DTS"],
  0x87: ["other audio", "E-AC-3"],
  0xea: ["other video", "VC-1"],
};
const PRIVATE = 0x06;
const REGISTERED_FORMATS: Record<string, readonly [TsCodec, string]> = {
  Opus: ["opus", "Opus"],
  HEVC: ["hevc", "HEVC"],
  AV01: ["other video", "AV1"],
  "AC-3": ["other audio", "AC-3"],
  EAC3: ["other audio", "E-AC-3"],
  BSSD: ["other audio", "SMPTE 302M"],
};
const DESCRIPTOR = { registration: 5, ac3: 0x6a, eac3: 0x7a, extension: 0x7f } as const;

/** Returns the streams in a program map; undefined if the section is not a program map. */
export function readPmt(section: Buffer): TsStream[] | undefined {
  if (section[0] !== PMT || section.length < 16) return undefined;
  const streams: TsStream[] = [];
  const end = section.length - 4;
  for (let at = 12 + (section.readUInt16BE(10) & 0x0fff); at + 5 <= end;) {
    const descriptorsEnd = at + 5 + (section.readUInt16BE(at + 3) & 0x0fff);
    if (descriptorsEnd > end) break;
    streams.push({
      pid: section.readUInt16BE(at + 1) & 0x1fff,
      ...kindOf(section[at]!, section.subarray(at + 5, descriptorsEnd)),
    });
    at = descriptorsEnd;
  }
  return streams;
}

function kindOf(type: number, descriptors: Buffer): Omit<TsStream, "pid"> {
  let [codec, name] = STREAM_TYPES[type] ?? (["data", `stream type ${type}`] as const);
  let channels: number | undefined;
  for (let at = 0; at + 2 <= descriptors.length; at += 2 + descriptors[at + 1]!) {
    const body = descriptors.subarray(at + 2, at + 2 + descriptors[at + 1]!);
    const tag = descriptors[at];
    if (type === PRIVATE && tag === DESCRIPTOR.registration)
      [codec, name] = REGISTERED_FORMATS[body.toString("latin1", 0, 4)] ?? [codec, name];
    if (type === PRIVATE && tag === DESCRIPTOR.ac3) [codec, name] = ["other audio", "AC-3"];
    if (type === PRIVATE && tag === DESCRIPTOR.eac3) [codec, name] = ["other audio", "E-AC-3"];
    // ETSI's user-defined extension descriptor, as used for Opus, where the code is the number of channels, up to 8.
    if (tag === DESCRIPTOR.extension && body[0] === 0x80 && body.length >= 2) channels = body[1]!;
  }
  return { codec, name, ...(channels !== undefined && { channels }) };
}

const WRITTEN_TYPES: Partial<Record<TsCodec, readonly [type: number, descriptors: readonly number[]]>> = {
  h264: [0x1b, []],
  hevc: [0x24, []],
  aac: [0x0f, []],
  mp3: [0x03, []],
  opus: [PRIVATE, [5, 4, 0x4f, 0x70, 0x75, 0x73]],
};
const PROGRAM = 1;

export const writePat = (mapPid: number, version: number): Buffer =>
  section(PAT, 1, version, Buffer.from([PROGRAM >> 8, PROGRAM & 255, 0xe0 | (mapPid >> 8), mapPid & 255]));

export function writePmt(streams: readonly Omit<TsStream, "name">[], clockPid: number, version: number): Buffer {
  const entries = streams.flatMap(({ pid, codec, channels = 2 }) => {
    const [type, writtenType] = WRITTEN_TYPES[codec]!;
    const descriptors = codec === "opus" ? [...writtenType, DESCRIPTOR.extension, 2, 0x80, channels] : writtenType;
    return [type, 0xe0 | (pid >> 8), pid & 255, 0xf0, descriptors.length, ...descriptors];
  });
  return section(PMT, PROGRAM, version, Buffer.from([0xe0 | (clockPid >> 8), clockPid & 255, 0xf0, 0, ...entries]));
}

function section(table: number, id: number, version: number, body: Buffer): Buffer {
  const bytes = Buffer.alloc(8 + body.length + 4);
  bytes[0] = table;
  bytes.writeUInt16BE(0xb000 | (5 + body.length + 4), 1);
  bytes.writeUInt16BE(id, 3);
  bytes[5] = 0xc1 | ((version & 31) << 1);
  body.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}
