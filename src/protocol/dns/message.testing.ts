import { HEADER_FLAG, readDnsMessage, type WireRecord, writeMessage } from "./message.ts";
import { rcodeName } from "./rcodes.ts";
import type { RecordData } from "./record-data.ts";
import { isRecordType, RECORD_TYPES, typeNumber } from "./record-types.ts";
import { readRecordData, type WireType } from "./wire-data.ts";
import type { RawRecord } from "./wire-reader.ts";
import { writeRecordData } from "./wire-data-write.ts";

/**
 * A test record. `data`: the only field for A, AAAA, CNAME, NS and PTR; the strings for TXT; otherwise the fields by
 * name.
 */
export interface TestRecord {
  name: string;
  type: string;
  ttl: number;
  data: string | readonly string[] | object;
}

/** Types that never occur in a zone. */
const OTHER_TYPES: Record<string, number> = {
  HINFO: 13,
  OPT: 41,
  TKEY: 249,
  TSIG: 250,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
};
const NAMES = new Map<number, string>([
  ...Object.entries(OTHER_TYPES).map(([name, number]) => [number, name] as const),
  ...([...RECORD_TYPES, "SOA"] as const).map((name) => [typeNumber(name), name] as const),
]);

/** Returns the name of a type, or `TYPE65280` for a number without a name. */
const typeName = (number: number): string => NAMES.get(number) ?? `TYPE${number}`;
export const numberOf = (type: string): number =>
  isRecordType(type) || type === "SOA" ? typeNumber(type) : (OTHER_TYPES[type] ?? Number(type.replace("TYPE", "")));

/** Does not validate the data: tests also send records that no server should send. */
export const draftOf = ({ name, type, ttl, data }: TestRecord): WireRecord => ({
  name,
  type: numberOf(type),
  ttl,
  write(out) {
    if (type === "SOA") {
      const { primary, mailbox, ...times } = data as Record<string, number> & { primary: string; mailbox: string };
      for (const host of [primary, mailbox]) out.name(host, true);
      for (const time of ["serial", "refresh", "retry", "expire", "minimum"]) out.u32(times[time] ?? 1);
    } else if (isRecordType(type)) writeRecordData(type, fieldsOf(type, data), out);
    else throw new Error(`cannot write a record of type ${type}`);
  },
});

function fieldsOf(type: string, data: TestRecord["data"]): RecordData {
  if (type === "TXT") return { strings: [data].flat() as string[] };
  if (typeof data !== "string") return data as RecordData;
  return type === "A" || type === "AAAA" ? { address: data } : { target: data };
}

interface TestQuery {
  name: string;
  type: string;
  id?: number;
  flags?: number;
  class?: number;
  additionals?: WireRecord[];
}

export const testQuery = ({ name, type, id = 4711, flags = 0, class: ofClass = 1, additionals = [] }: TestQuery) =>
  writeMessage({ id, flags, questions: [{ name, type: numberOf(type), class: ofClass }], additionals });

export interface ReadTestRecord {
  name: string;
  type: string;
  class: number;
  ttl: number;
  /** Octets in hex if the codec cannot read the type. */
  data: RecordData | string;
}

const UNREADABLE = new Set(["LOC", "HTTPS", "SVCB"]);

/** Reads a message with the data of its records. Throws MalformedMessage. */
export function readTestMessage(bytes: Buffer) {
  const message = readDnsMessage(bytes);
  const record = (raw: RawRecord): ReadTestRecord => {
    const type = typeName(raw.type);
    const readable = (isRecordType(type) && !UNREADABLE.has(type)) || type === "SOA";
    const data = readable ? readRecordData(bytes, type as WireType, raw) : raw.data.toString("hex");
    return { name: raw.name, type, class: raw.class, ttl: raw.ttl, data };
  };
  const has = (flag: number) => (message.header.flags & flag) !== 0;
  return {
    id: message.header.id,
    flags: message.header.flags,
    rcode: rcodeName(message.rcode),
    aa: has(HEADER_FLAG.authoritative),
    tc: has(HEADER_FLAG.truncated),
    questions: message.questions.map(({ name, type }) => ({ name, type: typeName(type) })),
    answers: message.answers.map(record),
    authorities: message.authorities.map(record),
    additionals: message.additionals.map(record),
  };
}
