import { messageOf } from "../../../kernel/index.ts";
import type { DaneFinding, DaneLookup, ReportedPolicy } from "../types.ts";
import { checkTlsa, formatTlsa, isUsable, readTlsa } from "./tlsa.ts";

/**
 * DNS lookups that report whether DNSSEC validated the response. Requires a validating resolver under the operator's
 * control.
 */
interface SecureLookups {
  /**
   * Rejects with `code` ENOTFOUND or ENODATA, or any other code for temporary failures. `name` in the result: the
   * target of the aliases.
   */
  query(
    name: string,
    type: "A" | "AAAA" | "MX" | "TLSA",
  ): Promise<{ name: string; records: { data: unknown }[]; authentic: boolean }>;
}

type DaneAnswer = { there: true; name: string; data: unknown[]; authentic: boolean } | { there: false };

const NO_FINDING: DaneFinding = { kind: "none" };
/** RFC 7672 3.1: more than any real host has. Each record is compared with each certificate. */
const MAX_RECORDS = 50;

/** DANE policies of mail servers (RFC 7672), for connections to `port`. */
export function createDane({ lookups, port }: { lookups: SecureLookups; port: number }): DaneLookup {
  async function queryDns(name: string, type: Parameters<SecureLookups["query"]>[1]): Promise<DaneAnswer> {
    try {
      const { name: found, records, authentic } = await lookups.query(name, type);
      return { there: true, name: found, data: records.map(({ data }) => data), authentic };
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      if (code === "ENOTFOUND" || code === "ENODATA") return { there: false };
      throw err;
    }
  }

  /**
   * RFC 7672 2.2.2: if the address of a host is unsigned, so are its TLSA records, and many DNS servers fail on TLSA
   * queries in such zones.
   */
  async function secureName(host: string): Promise<string | undefined> {
    for (const type of ["A", "AAAA"] as const) {
      const found = await queryDns(host, type);
      if (found.there) return found.authentic ? found.name : undefined;
    }
    return undefined;
  }

  async function lookUp(domain: string, host: string): Promise<DaneFinding> {
    // RFC 7672 2.2.1: an attacker who can forge the MX record could insert any host together with its TLSA records.
    const mx = await queryDns(domain, "MX");
    if (mx.there ? !mx.authentic : host !== domain) return NO_FINDING;
    const expandedName = await secureName(host);
    if (expandedName === undefined) return NO_FINDING;
    for (const name of new Set([expandedName, host])) {
      const tlsa = await queryDns(`_${port}._tcp.${name}`, "TLSA");
      if (!tlsa.there || !tlsa.authentic) continue;
      const records = tlsa.data.slice(0, MAX_RECORDS).map(readTlsa);
      const reportedPolicy: ReportedPolicy = { type: "tlsa", lines: records.map(formatTlsa), mx: [name] };
      const usableRecords = records.filter(isUsable);
      // 2.2: even unusable records indicate that the server supports TLS.
      if (usableRecords.length === 0)
        return { kind: "policy", host: name, policy: { level: "require", reported: reportedPolicy } };
      const names = [...new Set([name, host, domain])];
      return {
        kind: "policy",
        host: name,
        policy: {
          level: "require",
          reported: reportedPolicy,
          verify: (_host, socket) => checkTlsa(socket, usableRecords, names),
        },
      };
    }
    return NO_FINDING;
  }

  return async (domain, host) => {
    if (domain.startsWith("[")) return NO_FINDING;
    try {
      return await lookUp(domain, host);
    } catch (err) {
      // 2.1.2: an attacker may be suppressing the missing response.
      return {
        kind: "unknown",
        why: `the TLSA lookup for ${host} failed: ${messageOf(err)}`,
        reported: { type: "tlsa", lines: [], mx: [host] },
      };
    }
  };
}
