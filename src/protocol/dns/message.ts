import {
  type Header,
  HEADER_OCTETS,
  MalformedMessage,
  type RawRecord,
  readDnsHeader,
  readName,
  readRecord,
} from "./wire-reader.ts";
import { createWireWriter, type WireWriter } from "./wire-writer.ts";

/** Bits of the second header word (RFC 1035 4.1.1, RFC 4035 3.2). */
export const HEADER_FLAG = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  authentic: 0x0020,
} as const;

export const CLASS_IN = 1;
const OPT = 41;

interface MessageQuestion {
  /** See readName. */
  name: string;
  type: number;
  class: number;
}

/** A message with its records, whose data readRecordData reads. */
export interface DnsMessage {
  header: Header;
  /** Response code including the upper bits from OPT (RFC 6891 6.1.3). */
  rcode: number;
  questions: MessageQuestion[];
  answers: RawRecord[];
  authorities: RawRecord[];
  additionals: RawRecord[];
}

/** Reads any message; trailing octets are ignored. Throws MalformedMessage. */
export function readDnsMessage(message: Buffer): DnsMessage {
  const header = readDnsHeader(message);
  if (header === undefined) throw new MalformedMessage("the message ends within the header");
  let at = HEADER_OCTETS;
  const questions: MessageQuestion[] = [];
  // Each count is at most 65,535, and the loop ends at the first missing question or record.
  for (let remaining = header.counts[0]; remaining > 0; remaining--) {
    const { name, end } = readName(message, at);
    if (end + 4 > message.length) throw new MalformedMessage("the message ends within a question");
    questions.push({ name, type: message.readUInt16BE(end), class: message.readUInt16BE(end + 2) });
    at = end + 4;
  }
  const readSection = (count: number): RawRecord[] => {
    const records: RawRecord[] = [];
    for (let remaining = count; remaining > 0; remaining--) {
      const record = readRecord(message, at);
      records.push(record);
      at = record.end;
    }
    return records;
  };
  const answers = readSection(header.counts[1]);
  const authorities = readSection(header.counts[2]);
  const additionals = readSection(header.counts[3]);
  const opt = additionals.find(({ type }) => type === OPT);
  return {
    header,
    rcode: header.rcode | (opt === undefined ? 0 : (opt.ttl >>> 24) << 4),
    questions,
    answers,
    authorities,
    additionals,
  };
}

export interface WireRecord {
  name: string;
  type: number;
  /** Default IN. */
  class?: number;
  ttl: number;
  /** If absent, the record has no data. */
  write?(out: WireWriter): void;
}

interface MessageDraft {
  id: number;
  /** Combination of HEADER_FLAG, opcode and RCODE. */
  flags: number;
  questions: readonly (Omit<MessageQuestion, "class"> & { class?: number })[];
  answers?: readonly WireRecord[];
  authorities?: readonly WireRecord[];
  additionals?: readonly WireRecord[];
}

/** Writes a message of up to 65,535 octets. Throws MessageTooLarge. */
export function writeMessage({
  id,
  flags,
  questions,
  answers = [],
  authorities = [],
  additionals = [],
}: MessageDraft): Buffer {
  const out = createWireWriter();
  out.u16(id);
  out.u16(flags);
  for (const { length } of [questions, answers, authorities, additionals]) out.u16(length);
  for (const question of questions) {
    out.name(question.name, true);
    out.u16(question.type);
    out.u16(question.class ?? CLASS_IN);
  }
  for (const record of [...answers, ...authorities, ...additionals]) {
    out.name(record.name, true);
    out.u16(record.type);
    out.u16(record.class ?? CLASS_IN);
    out.u32(record.ttl);
    out.lengthPrefixed(() => record.write?.(out));
  }
  return out.finish();
}

/** OPT record for a sender that accepts UDP responses of `payload` octets (RFC 6891 6.1.2). */
export const optRecord = (payload: number): WireRecord => ({ name: "", type: OPT, class: payload, ttl: 0 });
