import { randomInt } from "node:crypto";
import { domainToASCII } from "node:url";
import packet from "dns-packet";
import { MAX_NAME, UDP_PAYLOAD } from "../../../protocol/dns/index.ts";
import { LookupError } from "./failure.ts";

export type QuestionType = "A" | "AAAA" | "CAA" | "CNAME" | "MX" | "NS" | "PTR" | "SOA" | "SRV" | "TLSA" | "TXT";

export interface Question {
  /** See nameToAsk. */
  name: string;
  type: QuestionType;
}

export interface WireRecord {
  /** In lower case. */
  name: string;
  type: string;
  ttl: number;
  /** As dns-packet gives it. */
  data: unknown;
}

/** What a server said. */
export interface WireAnswer {
  rcode: string;
  authoritative: boolean;
  truncated: boolean;
  /** RFC 4035 3.2.3: all of it was checked by DNSSEC, as far as the server is to be believed. */
  authentic: boolean;
  recursive: boolean;
  records: WireRecord[];
  /** Seconds for which nothing is to be asked again (RFC 2308 5); undefined without SOA. */
  negativeTtl: number | undefined;
}

/** A name as it is asked for: A-labels in lower case, no dot at the end. Throws ENOTFOUND for what is no name: nobody has records for it. */
export function nameToAsk(text: string): string {
  const labels = text
    .replace(/\.$/, "")
    .split(".")
    .map((label) => ([...label].every((letter) => letter < "\x80") ? label.toLowerCase() : domainToASCII(label)));
  const name = labels.join(".");
  if (labels.some((label) => label === "" || label.length > 63) || name.length > MAX_NAME)
    throw new LookupError("ENOTFOUND", `${text.slice(0, 80)} is no name that DNS can have`);
  return name;
}

/** A question to a resolver. With `edns` a reply of 1232 octets fits into UDP, and AD is asked for (RFC 6840 5.7). */
export function writeQuestion({ name, type }: Question, { edns }: { edns: boolean }): Buffer {
  return packet.encode({
    type: "query",
    id: randomInt(65_536),
    flags: packet.RECURSION_DESIRED | packet.AUTHENTIC_DATA,
    questions: [{ name, type, class: "IN" }],
    ...(edns && {
      additionals: [
        {
          type: "OPT",
          name: ".",
          udpPayloadSize: UDP_PAYLOAD,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [],
        },
      ],
    }),
  });
}

/** The answer to this very question; undefined for any other message, which somebody may have made up (RFC 5452 3). */
export function readAnswer(message: Buffer, { name, type }: Question, asked: Buffer): WireAnswer | undefined {
  if (message.length < 12 || message.readUInt16BE(0) !== asked.readUInt16BE(0) || (message[2]! & 0x80) === 0)
    return undefined;
  let reply: packet.DecodedPacket & { rcode: string };
  try {
    reply = packet.decode(message) as typeof reply;
  } catch {
    return undefined;
  }
  const question = reply.questions?.[0];
  // Servers that do not understand a question may leave it out.
  if (
    question === undefined
      ? !["FORMERR", "NOTIMP", "SERVFAIL", "REFUSED"].includes(reply.rcode)
      : question.name.toLowerCase() !== name || question.type !== type
  )
    return undefined;
  const soa = (reply.authorities ?? []).find((record) => record.type === "SOA") as packet.SoaAnswer | undefined;
  return {
    rcode: reply.rcode,
    authoritative: reply.flag_aa,
    truncated: reply.flag_tc,
    authentic: reply.flag_ad,
    recursive: reply.flag_ra,
    records: (reply.answers ?? []).map((record) => {
      const { data, ttl } = record as { data?: unknown; ttl?: number };
      return { name: record.name.toLowerCase(), type: record.type, ttl: ttl ?? 0, data };
    }),
    negativeTtl: soa && Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0),
  };
}
