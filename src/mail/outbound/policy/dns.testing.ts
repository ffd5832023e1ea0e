import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import packet, { type Answer, type DecodedPacket } from "dns-packet";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import { createLookups, type Lookups } from "../../../zones/index.ts";

/** What a name has: records by type, whether they come with the AD bit, or that questions of a type fail. */
export interface Told {
  records?: Partial<Record<"A" | "AAAA" | "MX" | "TXT" | "TLSA" | "CNAME", unknown[]>>;
  /** Default true. */
  authentic?: boolean;
  fail?: string[];
}

/** A validating resolver that says what it is told, over UDP, and our own lookups to ask it. What it is told may change as it goes. */
export async function startDns(t: TestContext, names: Record<string, Told>): Promise<Lookups & { asked: string[] }> {
  const asked: string[] = [];
  const server = createSocket("udp4");
  server.on("message", (octets, from) => {
    const query = packet.decode(octets);
    const [question] = query.questions!;
    asked.push(`${question!.type} ${question!.name}`);
    server.send(packet.encode(replyTo(query, names[question!.name.toLowerCase()])), from.port, from.address);
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
  return { ...lookups, asked };
}

function replyTo(query: DecodedPacket, told: Told | undefined): packet.Packet {
  const [{ name, type }] = query.questions as [{ name: string; type: keyof NonNullable<Told["records"]> }];
  const reply = { type: "response" as const, id: query.id!, questions: query.questions!, answers: [] as Answer[] };
  const recursive = packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE;
  if (told?.fail?.includes(type)) return { ...reply, flags: recursive | SERVFAIL };
  if (told === undefined) return { ...reply, flags: recursive | NXDOMAIN };
  const kind = told.records?.[type] === undefined && told.records?.CNAME !== undefined ? "CNAME" : type;
  // No TTL: every question is asked anew.
  const answers = (told.records?.[kind] ?? []).map((data) => ({ name, type: kind, ttl: 0, data }) as Answer);
  return { ...reply, answers, flags: recursive | ((told.authentic ?? true) ? packet.AUTHENTIC_DATA : 0) };
}

const [SERVFAIL, NXDOMAIN] = [2, 3];
