import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import { HEADER_FLAG, RCODE, writeMessage } from "../../../protocol/dns/index.ts";
import { draftOf, numberOf, readTestMessage } from "../../../protocol/dns/message.testing.ts";
import { createLookups, type Lookups } from "../../../zones/index.ts";
import type { Tlsa } from "./tlsa.ts";

/** The records of a name by type, whether they carry the AD bit, and the query types that fail. */
export interface NameRecords {
  records?: Partial<Record<"A" | "AAAA" | "MX" | "TXT" | "TLSA" | "CNAME", (string | string[] | object)[]>>;
  /** Default true. */
  authentic?: boolean;
  fail?: string[];
}

/**
 * Starts a validating resolver over UDP with scripted responses, which may change during the test, and our own lookups
 * that query it.
 */
export async function startDns(
  t: TestContext,
  names: Record<string, NameRecords>,
): Promise<Lookups & { queries: string[] }> {
  const queries: string[] = [];
  const server = createSocket("udp4");
  server.on("message", (octets, from) => {
    const query = readTestMessage(octets);
    const [question] = query.questions;
    queries.push(`${question!.type} ${question!.name}`);
    server.send(replyTo(query, names[question!.name]), from.port, from.address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const lookups = createLookups({
    servers: [{ host: "127.0.0.1", port: server.address().port }],
    clock: systemClock,
    log: silentLog,
  });
  t.after(() => {
    lookups.close();
    server.close();
  });
  return { ...lookups, queries };
}

function replyTo(query: ReturnType<typeof readTestMessage>, entry: NameRecords | undefined): Buffer {
  const [{ name, type }] = query.questions as [{ name: string; type: keyof NonNullable<NameRecords["records"]> }];
  const kind = entry?.records?.[type] === undefined && entry?.records?.CNAME !== undefined ? "CNAME" : type;
  const fails = entry?.fail?.includes(type) ?? false;
  const rcode = fails ? RCODE.servFail : entry === undefined ? RCODE.nxDomain : RCODE.noError;
  const authentic = entry !== undefined && !fails && (entry.authentic ?? true);
  return writeMessage({
    id: query.id,
    flags:
      HEADER_FLAG.response |
      HEADER_FLAG.recursionDesired |
      HEADER_FLAG.recursionAvailable |
      (authentic ? HEADER_FLAG.authentic : 0) |
      rcode,
    questions: [{ name, type: numberOf(type) }],
    // TTL 0, so every query reaches this server.
    answers: fails
      ? []
      : (entry?.records?.[kind] ?? []).map((data) => draftOf({ name, type: kind, ttl: 0, data: dataOf(data) })),
  });
}

const dataOf = (data: string | string[] | object) =>
  typeof data === "object" && "matchingType" in data ? tlsaFields(data as Tlsa) : data;

const tlsaFields = ({ usage, selector, matchingType, certificate }: Tlsa) => ({
  usage,
  selector,
  matching_type: matchingType,
  certificate: Buffer.from(certificate).toString("hex"),
});
