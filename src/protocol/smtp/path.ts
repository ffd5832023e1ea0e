import { isIPv4, isIPv6 } from "../../kernel/networks.ts";
import { canonicalDomain } from "../rfc5322/index.ts";

/**
 * RFC 5321 4.5.3.1.3, without the angle brackets. The limit of 64 octets for the local part is not enforced, because
 * forwarders of large providers exceed it.
 */
const MAX_ADDRESS_LENGTH = 253;

/** Control characters, and zero-width characters, which make two addresses look alike. */
const UNSAFE_CHARS = /[\p{Cc}\u200b\u2060\ufeff]/u;

/**
 * Returns the address in a path `<local@domain>` (RFC 5321 4.1.2), with its domain as A-labels; "" for `<>`. A source
 * route is dropped (appendix C). `postmaster`: accept `<Postmaster>` without a domain (4.1.1.3). Undefined for anything
 * else.
 */
export function readPath(path: string, { postmaster = false }: { postmaster?: boolean } = {}): string | undefined {
  if (!/^<[^<>]*>$/.test(path)) return undefined;
  const address = path.slice(1, -1).replace(/^@[^\s,:@]+(?:,@[^\s,:@]+)*:/, "");
  if (address === "" || (postmaster && /^postmaster$/i.test(address))) return address;
  const [local = "", domain = "", ...more] = address.split("@");
  if (more.length > 0 || local === "" || domain === "" || UNSAFE_CHARS.test(address)) return undefined;
  if (local.length + 1 + domain.length > MAX_ADDRESS_LENGTH) return undefined;
  if (local.startsWith(".") || local.endsWith(".") || local.includes("..")) return undefined;
  const wireDomain = domainOnTheWire(domain);
  return wireDomain === undefined ? undefined : `${local}@${wireDomain}`;
}

function domainOnTheWire(domain: string): string | undefined {
  if (domain.startsWith("[") && domain.endsWith("]")) {
    const literal = domain.slice(1, -1);
    const isAddress = /^IPv6:/i.test(literal) ? isIPv6(literal.slice(5)) : isIPv4(literal);
    return isAddress ? domain : undefined;
  }
  if (!/^[a-zA-Z0-9\u0080-\uffff.-]+$/.test(domain) || /^\.|\.$|\.\.|\.-|-\./.test(domain)) return undefined;
  // Rules and DNS contain domains as A-labels.
  const canonical = canonicalDomain(domain);
  // DNS rejects an ASCII name with a label that is too long; SMTP syntax allows it.
  return canonical ?? (/[\u0080-\uffff]/.test(domain) ? undefined : domain);
}
