import { randomInt } from "node:crypto";
import { domainToASCII } from "node:url";
import {
  CLASS_IN,
  HEADER_FLAG,
  MalformedMessage,
  MAX_NAME_LENGTH,
  optRecord,
  rcodeName,
  readDnsMessage,
  type RecordData,
  readRecordData,
  typeNumber,
  UDP_PAYLOAD,
  writeMessage,
} from "../../../protocol/dns/index.ts";
import { LookupError } from "./failure.ts";

export type QuestionType = "A" | "AAAA" | "CAA" | "CNAME" | "MX" | "NS" | "PTR" | "SOA" | "SRV" | "TLSA" | "TXT";

export interface Question {
  /** See toQueryName. */
  name: string;
  type: QuestionType;
}

/** A record of the requested type, or a CNAME. */
interface WireRecord {
  /** Lower case. */
  name: string;
  type: QuestionType;
  ttl: number;
  /** See readRecordData. */
  data: RecordData;
}

/** The response of a server. */
export interface WireAnswer {
  rcode: string;
  authoritative: boolean;
  truncated: boolean;
  /** The AD bit (RFC 4035 3.2.3): the server validated all records with DNSSEC. Meaningful only if the server is trusted. */
  authentic: boolean;
  recursive: boolean;
  records: WireRecord[];
  /** Seconds for which the absence may be cached (RFC 2308 5); undefined without SOA. */
  negativeTtl: number | undefined;
}

/**
 * Converts a name to the form used in questions: lower-case A-labels, no trailing dot, a backslash as \092. Throws
 * ENOTFOUND if the text is not a valid name.
 */
export function toQueryName(text: string): string {
  const labels = text
    .replace(/\.$/, "")
    .split(".")
    .map((label) => ([...label].every((letter) => letter < "\x80") ? label.toLowerCase() : domainToASCII(label)));
  const name = labels.join(".");
  if (labels.some((label) => label === "" || label.length > 63) || name.length > MAX_NAME_LENGTH)
    throw new LookupError("ENOTFOUND", `${text.slice(0, 80)} is not a valid DNS name`);
  return name.replace(UNPRINTABLE, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, "0")}`);
}

const UNPRINTABLE = /[^\x21-\x7e]|\\/g;

/**
 * Returns a query to a resolver. With `edns`, a response of up to 1232 octets fits into UDP, and AD is requested (RFC
 * 6840 5.7).
 */
export const writeQuestion = ({ name, type }: Question, { edns }: { edns: boolean }): Buffer =>
  writeMessage({
    id: randomInt(65_536),
    flags: HEADER_FLAG.recursionDesired | HEADER_FLAG.authentic,
    questions: [{ name, type: typeNumber(type) }],
    additionals: edns ? [optRecord(UDP_PAYLOAD)] : [],
  });

/** Response codes of servers that do not understand or refuse a question: their responses may omit the question. */
const WITHOUT_QUESTION = new Set(["FORMERR", "NOTIMP", "SERVFAIL", "REFUSED"]);

/** Returns the answer to exactly this question; undefined for any other message, which may be forged (RFC 5452 3). */
export function readAnswer(message: Buffer, question: Question, query: Buffer): WireAnswer | undefined {
  if (message.length < 12 || message.readUInt16BE(0) !== query.readUInt16BE(0)) return undefined;
  try {
    return answerTo(question, message);
  } catch (err) {
    if (err instanceof MalformedMessage) return undefined;
    throw err;
  }
}

function answerTo({ name, type }: Question, message: Buffer): WireAnswer | undefined {
  const reply = readDnsMessage(message);
  const { response, flags } = reply.header;
  const rcode = rcodeName(reply.rcode);
  const [question] = reply.questions;
  const isMatching =
    question === undefined
      ? WITHOUT_QUESTION.has(rcode)
      : question.name === name && question.type === typeNumber(type) && question.class === CLASS_IN;
  if (!response || !isMatching) return undefined;
  const records = reply.answers.flatMap((record): WireRecord[] => {
    const knownType = ([type, "CNAME"] as const).find((recordType) => typeNumber(recordType) === record.type);
    if (knownType === undefined || record.class !== CLASS_IN) return [];
    return [{ name: record.name, type: knownType, ttl: record.ttl, data: readRecordData(message, knownType, record) }];
  });
  const soa = reply.authorities.find((record) => record.type === typeNumber("SOA"));
  return {
    rcode,
    authoritative: (flags & HEADER_FLAG.authoritative) !== 0,
    truncated: (flags & HEADER_FLAG.truncated) !== 0,
    authentic: (flags & HEADER_FLAG.authentic) !== 0,
    recursive: (flags & HEADER_FLAG.recursionAvailable) !== 0,
    records,
    negativeTtl: soa && Math.min(soa.ttl, readRecordData(message, "SOA", soa).minimum as number),
  };
}
