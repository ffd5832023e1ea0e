import { randomInt } from "node:crypto";
import { messageOf } from "../../../kernel/index.ts";
import {
  checkData,
  CLASS_IN,
  HEADER_FLAG,
  rcodeName,
  readDnsMessage,
  readRecordData,
  type RecordType,
  typeNumber,
  type WireType,
  writeMessage,
} from "../../../protocol/dns/index.ts";
import { providerRecord } from "./change.ts";
import { dnsErrors } from "./errors.ts";
import type { ProviderRecord, RecordSetName } from "./port.ts";

const RECORD_SET_TYPES = [
  "A",
  "AAAA",
  "CAA",
  "CNAME",
  "MX",
  "NS",
  "PTR",
  "SRV",
  "TLSA",
  "TXT",
] as const satisfies WireType[];
type RecordSetType = (typeof RECORD_SET_TYPES)[number];

/** True for the types of records that this program manages on other servers, and looks up to verify them. */
export const isRecordSetType = (type: RecordType): type is RecordSetType =>
  (RECORD_SET_TYPES as readonly RecordType[]).includes(type);

/** Queries the zone's own server for a set. Throws notServed, badReply. */
export async function readRecordSet(
  send: (message: Buffer) => Promise<Buffer>,
  { name, type }: RecordSetName,
  about: { server: string; zone: string },
): Promise<ProviderRecord[]> {
  if (!isRecordSetType(type))
    throw dnsErrors.badReply({ server: about.server, reason: `records of type ${type} cannot be read` });
  const reply = await send(
    writeMessage({ id: randomInt(65_536), flags: 0, questions: [{ name, type: typeNumber(type) }] }),
  );
  try {
    return recordSetOf(reply, { name, type }, about);
  } catch (err) {
    if (err instanceof Error && err.name === "UserError") throw err;
    throw dnsErrors.badReply({ server: about.server, reason: messageOf(err) }, { cause: err });
  }
}

function recordSetOf(
  reply: Buffer,
  { name, type }: { name: string; type: RecordSetType },
  about: { server: string; zone: string },
): ProviderRecord[] {
  const message = readDnsMessage(reply);
  const rcode = rcodeName(message.rcode);
  const isAnswered = rcode === "NOERROR" || rcode === "NXDOMAIN";
  if (isAnswered && (message.header.flags & HEADER_FLAG.authoritative) === 0)
    throw dnsErrors.notServed({ ...about, reason: "its responses are not authoritative" });
  if (rcode === "REFUSED" || rcode === "NOTAUTH") throw dnsErrors.notServed({ ...about, reason: rcode });
  if (!isAnswered) throw dnsErrors.badReply({ server: about.server, reason: `${rcode} for ${name} ${type}` });
  // A CNAME may lead to records of another name, which do not belong to this set.
  return message.answers
    .filter((answer) => answer.type === typeNumber(type) && answer.class === CLASS_IN && answer.name === name)
    .map((answer) => providerRecord(name, type, checkData(type, readRecordData(reply, type, answer)), answer.ttl));
}
