import { randomInt } from "node:crypto";
import packet from "dns-packet";
import { messageOf } from "../../../kernel/index.ts";
import { checkData, type RecordData, type RecordType } from "../../../protocol/dns/index.ts";
import { recordOf } from "./change.ts";
import { dnsErrors } from "./errors.ts";
import type { ProviderRecord, RecordSetName } from "./port.ts";

/** Asks the zone's own server for a set. Throws notServed, badReply. */
export async function readSet(
  send: (message: Buffer) => Promise<Buffer>,
  { name, type }: RecordSetName,
  about: { server: string; zone: string },
): Promise<ProviderRecord[]> {
  const fields = dataFields(type);
  if (fields === undefined)
    throw dnsErrors.badReply({ server: about.server, reason: `records of type ${type} cannot be read` });
  const reply = await send(
    packet.encode({
      type: "query",
      id: randomInt(65_536),
      questions: [{ name, type: type as packet.RecordType, class: "IN" }],
    }),
  );
  let answers: packet.Answer[];
  let rcode: string;
  try {
    const decoded = packet.decode(reply) as packet.DecodedPacket & { rcode: string };
    [answers, rcode] = [decoded.answers ?? [], decoded.rcode];
    if (!decoded.flag_aa && (rcode === "NOERROR" || rcode === "NXDOMAIN"))
      throw dnsErrors.notServed({ ...about, reason: "its answers are not authoritative" });
    if (rcode === "REFUSED" || rcode === "NOTAUTH") throw dnsErrors.notServed({ ...about, reason: rcode });
    if (rcode !== "NOERROR" && rcode !== "NXDOMAIN")
      throw dnsErrors.badReply({ server: about.server, reason: `${rcode} for ${name} ${type}` });
    // A CNAME may lead to another name's records: those are not what stands here.
    return answers
      .filter((answer) => answer.type === type && answer.name.toLowerCase() === name)
      .map((answer) => {
        const { data, ttl = 0 } = answer as { data: unknown; ttl?: number };
        return recordOf(name, type, checkData(type, fields(data)), ttl);
      });
  } catch (err) {
    if (err instanceof Error && err.name === "UserError") throw err;
    throw dnsErrors.badReply({ server: about.server, reason: messageOf(err) }, { cause: err });
  }
}

const target = (host: string): RecordData => ({ target: host });

/** Reads what dns-packet makes of a record's data; undefined for types that we never put into other people's zones. */
export const dataFields = (type: RecordType): ((data: unknown) => Record<string, unknown>) | undefined =>
  FIELDS[type] as ((data: unknown) => Record<string, unknown>) | undefined;

const FIELDS: Partial<Record<RecordType, (data: never) => Record<string, unknown>>> = {
  A: (address: string) => ({ address }),
  AAAA: (address: string) => ({ address }),
  CNAME: target,
  NS: target,
  PTR: target,
  MX: ({ preference, exchange }: packet.MxData) => ({ priority: preference, target: exchange }),
  SRV: ({ priority, weight, port, target: host }: packet.SrvData) => ({ priority, weight, port, target: host }),
  TXT: (strings: Buffer | Buffer[]) => ({ strings: [strings].flat().map((string) => string.toString("latin1")) }),
  CAA: ({ flags, tag, value }: packet.CaaData) => ({ flags, tag, value }),
  TLSA: ({ usage, selector, matchingType, certificate }: packet.TlsaData) => ({
    usage,
    selector,
    matching_type: matchingType,
    certificate: certificate.toString("hex"),
  }),
};
