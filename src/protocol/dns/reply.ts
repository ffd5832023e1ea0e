import { HEADER_FLAG } from "./message.ts";
import type { Query } from "./query.ts";
import { HEADER_OCTETS, type Header } from "./wire-reader.ts";
import { createWireWriter, MessageTooLarge, type WireWriter } from "./wire-writer.ts";

/** All records of one name and type. */
export interface RecordSet {
  name: string;
  type: number;
  ttl: number;
  /** One function for each record. */
  data: readonly ((out: WireWriter) => void)[];
}

export interface DnsReply {
  rcode: number;
  authoritative: boolean;
  answer: readonly RecordSet[];
  authority: readonly RecordSet[];
  /** These records are omitted if they do not fit. */
  additional: readonly RecordSet[];
  /** The additional records are glue required by a referral (RFC 9471): if they do not fit, the reply is truncated. */
  glue?: boolean;
  /** Reason for an incomplete or failed reply (RFC 8914). */
  reason?: { code: number; text: string };
}

export const emptyReply = (rcode: number, reason?: DnsReply["reason"]): DnsReply => ({
  rcode,
  authoritative: false,
  answer: [],
  authority: [],
  additional: [],
  ...(reason && { reason }),
});

/** Maximum UDP payload for received and sent messages, chosen to avoid fragmentation (RFC 9715). */
export const UDP_PAYLOAD = 1232;
/** Maximum size of a UDP message without EDNS (RFC 1035 4.2.1). */
const PLAIN_PAYLOAD_BYTES = 512;
const { authoritative: AA, truncated: TC, recursionDesired: RD, response: RESPONSE } = HEADER_FLAG;
const EDE = 15;

/** Returns the maximum length of a UDP reply. */
export const udpLimit = ({ edns }: Query): number =>
  edns === undefined ? PLAIN_PAYLOAD_BYTES : Math.max(PLAIN_PAYLOAD_BYTES, Math.min(edns.payload, UDP_PAYLOAD));

/** Writes a reply of at most `limit` octets. If the records do not fit, omits them and sets TC. */
export function writeReply(query: Query, reply: DnsReply, limit: number): Buffer {
  const out = createWireWriter();
  const opt =
    query.edns === undefined ? 0 : 11 + (reply.reason === undefined ? 0 : 6 + Buffer.byteLength(reply.reason.text));
  const available = limit - opt;
  out.u16(query.header.id);
  out.u16(RESPONSE | (reply.authoritative ? AA : 0) | (query.header.flags & RD) | (reply.rcode & 15));
  out.u16(1);
  out.bytes(Buffer.alloc(6));
  out.bytes(query.question);
  out.registerName(query.name, HEADER_OCTETS);
  const start = out.writtenOctets();
  const counts = [countOf(reply.answer), countOf(reply.authority), 0];
  const fits = writeAll(reply.answer, out, available) && writeAll(reply.authority, out, available);
  if (fits) counts[2] = writeWhatFits(reply.additional, out, available);
  if (!fits || (reply.glue === true && counts[2] !== countOf(reply.additional))) {
    out.truncate(start);
    counts.fill(0);
    out.setU16(2, RESPONSE | (reply.authoritative ? AA : 0) | TC | (query.header.flags & RD) | (reply.rcode & 15));
  }
  if (query.edns !== undefined) {
    writeOpt(query.edns.ok, reply, out);
    counts[2]!++;
  }
  for (const [index, count] of counts.entries()) out.setU16(6 + 2 * index, count);
  return out.finish();
}

/** Reply to a message with an unreadable question or an unknown opcode: the header only. */
export function writeHeaderOnlyReply({ id, opcode, flags }: Header, rcode: number): Buffer {
  const reply = Buffer.alloc(HEADER_OCTETS);
  reply.writeUInt16BE(id, 0);
  reply.writeUInt16BE(RESPONSE | (opcode << 11) | (flags & RD) | rcode, 2);
  return reply;
}

const countOf = (sets: readonly RecordSet[]) => sets.reduce((sum, { data }) => sum + data.length, 0);

function writeAll(sets: readonly RecordSet[], out: WireWriter, available: number): boolean {
  for (const set of sets) if (!writeSet(set, out, available)) return false;
  return true;
}

/** Writes whole sets only (RFC 2181 9). Returns the number of records. */
function writeWhatFits(sets: readonly RecordSet[], out: WireWriter, available: number): number {
  let writtenCount = 0;
  for (const set of sets) {
    const before = out.writtenOctets();
    if (writeSet(set, out, available)) writtenCount += set.data.length;
    else out.truncate(before);
  }
  return writtenCount;
}

function writeSet({ name, type, ttl, data }: RecordSet, out: WireWriter, available: number): boolean {
  try {
    for (const write of data) {
      out.name(name, true);
      out.u16(type);
      out.u16(1);
      out.u32(ttl);
      out.lengthPrefixed(() => write(out));
      if (out.writtenOctets() > available) return false;
    }
    return true;
  } catch (err) {
    if (err instanceof MessageTooLarge) return false;
    throw err;
  }
}

function writeOpt(ok: boolean, { rcode, reason }: DnsReply, out: WireWriter): void {
  out.u8(0);
  out.u16(41);
  out.u16(UDP_PAYLOAD);
  out.u8(rcode >> 4);
  out.u8(0);
  out.u16(ok ? 0x8000 : 0);
  out.lengthPrefixed(() => {
    if (reason === undefined) return;
    const text = Buffer.from(reason.text);
    out.u16(EDE);
    out.u16(2 + text.length);
    out.u16(reason.code);
    out.bytes(text);
  });
}
