import { isIP } from "node:net";
import type { SmtpReply } from "../../messages/index.ts";
import type { MailResolver } from "../types.ts";
import { reply } from "./replies.ts";

/** One address to connect to. */
export interface NextHop {
  /** The name for which the certificate must be valid; the address itself for a literal. */
  host: string;
  address: string;
  port: number;
}

export type NextHopResult = { ok: true; hops: NextHop[] } | { ok: false; permanent: boolean; reply: SmtpReply };

export interface RouteOptions {
  resolver: MailResolver;
  port: number;
  /** Address families to use, in order of preference. */
  families: (4 | 6)[];
  /** Our own names: hosts of the same or lower preference would cause a mail loop (RFC 5321 5.1). */
  ownNames: ReadonlySet<string>;
  /** True if a foreign MX record may direct mail to this address. */
  mayConnect: (address: string) => boolean;
  /** Orders hosts of equal preference; replaced in tests. */
  random: () => number;
}

/** Maximum number of hosts per domain and of addresses per host. */
const MAX_HOSTS = 10;
const MAX_ADDRESSES = 4;

/** Returns the next hops of `domain`, best first: RFC 5321 5.1, the null MX of RFC 7505, address literals. */
export async function findNextHops(domain: string, options: RouteOptions): Promise<NextHopResult> {
  const literal = addressOf(domain);
  if (literal !== undefined)
    return literal === ""
      ? createRefusal(550, "5.1.2", `${domain} is not an address`)
      : hopsOf([{ host: literal, addresses: [literal] }], options);
  const exchanges = await exchangesOf(domain, options);
  if (!Array.isArray(exchanges)) return exchanges;
  const hostAddresses = await Promise.all(
    exchanges.slice(0, MAX_HOSTS).map(async (host) => ({ host, ...(await addressesOf(host, options)) })),
  );
  if (hostAddresses.every(({ addresses }) => addresses.length === 0)) {
    const hasTemporaryFailure = hostAddresses.some(({ temporary }) => temporary);
    return createRefusal(
      hasTemporaryFailure ? 451 : 550,
      hasTemporaryFailure ? "4.4.3" : "5.4.4",
      `no mail server of ${domain} (${exchanges.slice(0, 3).join(", ")}) has an address`,
    );
  }
  return hopsOf(hostAddresses, options);
}

/** Returns the next hops of a host name rather than a mail domain: a smart host. */
export async function resolveHost(
  host: string,
  options: Pick<RouteOptions, "resolver" | "families" | "port">,
): Promise<NextHopResult> {
  const unrestricted = { ...options, mayConnect: () => true };
  if (isIP(host)) return hopsOf([{ host, addresses: [host] }], unrestricted);
  const { addresses } = await addressesOf(host, options);
  return addresses.length > 0
    ? hopsOf([{ host, addresses }], unrestricted)
    : createRefusal(451, "4.4.3", `the lookup of the address of ${host} failed`);
}

/** Resolves with host names in order of preference; without an MX record, the domain itself. */
async function exchangesOf(
  domain: string,
  { resolver, ownNames, random }: RouteOptions,
): Promise<string[] | Exclude<NextHopResult, { ok: true }>> {
  let records: { exchange: string; priority: number }[];
  try {
    records = await resolver.resolveMx(domain);
  } catch (err) {
    const code = codeOf(err);
    if (code === "ENOTFOUND") return createRefusal(550, "5.1.2", `the domain ${domain} does not exist`);
    if (code !== "ENODATA")
      return createRefusal(451, "4.4.3", `the mail servers of ${domain} cannot be looked up (${code})`);
    records = [];
  }
  if (records.length === 0) return [domain];
  if (records.every(({ exchange }) => toBareHost(exchange) === ""))
    return createRefusal(556, "5.1.10", `${domain} does not accept mail (null MX)`);
  const sortedExchanges = records
    .map(({ exchange, priority }) => ({ host: toBareHost(exchange), priority, chance: random() }))
    .filter(({ host }) => host !== "")
    .sort((a, b) => a.priority - b.priority || a.chance - b.chance);
  const ownExchange = sortedExchanges.find(({ host }) => ownNames.has(host));
  const eligible =
    ownExchange === undefined
      ? sortedExchanges
      : sortedExchanges.filter(({ priority }) => priority < ownExchange.priority);
  return eligible.length > 0
    ? eligible.map(({ host }) => host)
    : createRefusal(554, "5.4.6", `the mail servers of ${domain} lead back to this one`);
}

async function addressesOf(
  host: string,
  { resolver, families }: Pick<RouteOptions, "resolver" | "families">,
): Promise<{ addresses: string[]; temporary: boolean }> {
  // An address is not a valid host name (RFC 5321 2.3.5), but it occurs in practice and is unambiguous.
  if (isIP(host)) return { addresses: [host], temporary: false };
  let temporary = false;
  const lookups = await Promise.all(
    families.map(async (family) => {
      try {
        return await (family === 4 ? resolver.resolve4(host) : resolver.resolve6(host));
      } catch (err) {
        temporary ||= codeOf(err) !== "ENOTFOUND" && codeOf(err) !== "ENODATA";
        return [];
      }
    }),
  );
  return { addresses: lookups.flatMap((addresses) => addresses.slice(0, MAX_ADDRESSES)), temporary };
}

function hopsOf(
  hostAddresses: { host: string; addresses: string[] }[],
  { port, mayConnect }: Pick<RouteOptions, "port" | "mayConnect">,
): NextHopResult {
  const allHops = hostAddresses.flatMap(({ host, addresses }) => addresses.map((address) => ({ host, address, port })));
  const hops = allHops.filter(({ address }) => mayConnect(address));
  return hops.length > 0
    ? { ok: true, hops }
    : createRefusal(550, "5.4.4", `sending to ${allHops[0]?.address ?? "no address"} is not allowed`);
}

/**
 * Returns the address in `[192.0.2.1]` or `[IPv6:2001:db8::1]` (RFC 5321 4.1.3); "" for brackets around anything else,
 * undefined without brackets.
 */
function addressOf(domain: string): string | undefined {
  const bracketed = /^\[(?:IPv6:)?(.*)\]$/i.exec(domain)?.[1];
  if (bracketed === undefined) return undefined;
  return isIP(bracketed) ? bracketed : "";
}

const toBareHost = (host: string) => host.toLowerCase().replace(/\.$/, "");
const codeOf = (err: unknown) => (err as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
const createRefusal = (code: number, enhanced: string, text: string): Exclude<NextHopResult, { ok: true }> => ({
  ok: false,
  permanent: code >= 500,
  reply: reply(code, enhanced, text),
});
