import {
  HEADER_OCTETS,
  type Header,
  MalformedMessage,
  readDnsHeader,
  readUncompressedName,
  readRecord,
} from "./wire-reader.ts";

/** A query to a server, with the contents of its header and OPT record. */
export interface Query {
  header: Header;
  /** See readUncompressedName. */
  name: string;
  type: number;
  class: number;
  /** The question as sent: the response repeats it octet for octet, including upper case. */
  question: Buffer;
  edns: Edns | undefined;
  /** True if the query is signed (RFC 8945). */
  signed: boolean;
}

/** Fields of the OPT record (RFC 6891 6.1.3). */
interface Edns {
  payload: number;
  version: number;
  /** The DNSSEC OK (DO) bit. */
  ok: boolean;
}

const OPT = 41;
const TSIG = 250;
/** A query carries at most OPT and a signature; reading more records would only waste time. */
const MAX_RECORDS = 16;

/** Reads a message that has a header and is a query (opcode QUERY). Throws MalformedMessage. */
export function readQuery(message: Buffer, header: Header = readDnsHeader(message)!): Query {
  const [questions, answers, authority, additional] = header.counts;
  // RFC 9619 4: a query has exactly one question.
  if (questions !== 1) throw new MalformedMessage("a query must have exactly one question");
  if (answers + authority + additional > MAX_RECORDS)
    throw new MalformedMessage(`a query must have at most ${MAX_RECORDS} records`);
  const { name, end } = readUncompressedName(message, HEADER_OCTETS);
  if (end + 4 > message.length) throw new MalformedMessage("the message ends within the question");
  const query: Query = {
    header,
    name,
    type: message.readUInt16BE(end),
    class: message.readUInt16BE(end + 2),
    question: message.subarray(HEADER_OCTETS, end + 4),
    edns: undefined,
    signed: false,
  };
  let at = end + 4;
  for (let index = 0; index < answers + authority + additional; index++) {
    const record = readRecord(message, at);
    at = record.end;
    if (index < answers + authority) continue;
    if (record.type === OPT) {
      // RFC 6891 6.1.1: at most one OPT record, owned by the root.
      if (query.edns !== undefined || record.name !== "")
        throw new MalformedMessage("the OPT record is duplicated, or its owner name is not the root");
      query.edns = { payload: record.class, version: (record.ttl >> 16) & 255, ok: (record.ttl & 0x8000) !== 0 };
    } else if (record.type === TSIG) {
      query.signed = true;
    }
  }
  if (at !== message.length) throw new MalformedMessage("trailing octets after the end of the message");
  return query;
}
