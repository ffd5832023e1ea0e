import { Resolver } from "node:dns/promises";
import { messageOf } from "../../../kernel/index.ts";
import { checkData, type RecordType } from "../../../protocol/dns/index.ts";
import { providerRecord } from "../provider/change.ts";
import type { ProviderRecord } from "../provider/port.ts";

/** A source of public DNS records. */
export interface RecordResolver {
  /** Name displayed to users: "1.1.1.1", "ns1.example.net". */
  readonly name: string;
  /** Resolves with the records of a name, possibly an empty list. Throws LookupFailed if the absence is uncertain. */
  resolve(name: string, type: RecordType): Promise<ProviderRecord[]>;
}

export class LookupFailed extends Error {
  override readonly name = "LookupFailed";
}

interface ResolverOptions {
  name: string;
  /** Each server as `address`, `address:port` or `[address]:port`. */
  servers: readonly string[];
  /** Time limit of each of two attempts, in milliseconds. Default 3000. */
  timeoutMs?: number;
}

/** Uses Node's own resolver (c-ares). */
export function createResolver({ name: resolverName, servers, timeoutMs = 3000 }: ResolverOptions): RecordResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  resolver.setServers([...servers]);
  return {
    name: resolverName,
    async resolve(name, type) {
      const queryFunction = QUESTIONS[type];
      if (queryFunction === undefined) throw new LookupFailed(`records of type ${type} cannot be looked up`);
      try {
        return (await queryFunction(resolver, name)).map((data) =>
          providerRecord(name, type, checkData(type, data), 0),
        );
      } catch (err) {
        const code = (err as { code?: string }).code ?? "";
        if (code === "ENOTFOUND" || code === "ENODATA") return [];
        throw new LookupFailed(REASONS[code] ?? messageOf(err), { cause: err });
      }
    },
  };
}

const REASONS: Record<string, string> = {
  ESERVFAIL: "the server failed (SERVFAIL)",
  EREFUSED: "the server refused to answer (REFUSED)",
  ETIMEOUT: "timed out",
  ECONNREFUSED: "connection refused",
  EFORMERR: "the server could not parse the query (FORMERR)",
  EBADRESP: "malformed response",
};

const toLatin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
const toTargets = (hosts: string[]) => hosts.map((target) => ({ target }));

type Question = (resolver: Resolver, name: string) => Promise<Record<string, unknown>[]>;

const QUESTIONS: Partial<Record<RecordType, Question>> = {
  A: async (resolver, name) => (await resolver.resolve4(name)).map((address) => ({ address })),
  AAAA: async (resolver, name) => (await resolver.resolve6(name)).map((address) => ({ address })),
  CNAME: async (resolver, name) => toTargets(await resolver.resolveCname(name)),
  NS: async (resolver, name) => toTargets(await resolver.resolveNs(name)),
  PTR: async (resolver, name) => toTargets(await resolver.resolvePtr(name)),
  // The host of a null MX is the root (RFC 7505), for which Node returns "".
  MX: async (resolver, name) =>
    (await resolver.resolveMx(name)).map(({ priority, exchange }) => ({ priority, target: exchange || "." })),
  SRV: async (resolver, name) =>
    (await resolver.resolveSrv(name)).map(({ priority, weight, port, name: target }) => ({
      priority,
      weight,
      port,
      target: target || ".",
    })),
  TXT: async (resolver, name) =>
    (await resolver.resolveTxt(name)).map((strings) => ({ strings: strings.map(toLatin1) })),
  TLSA: async (resolver, name) =>
    (await resolver.resolveTlsa(name)).map(({ certUsage, selector, match, data }) => ({
      usage: certUsage,
      selector,
      matching_type: match,
      certificate: Buffer.from(data).toString("hex"),
    })),
};
