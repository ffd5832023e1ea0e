import { parseAddress } from "../rfc5322/index.ts";
import { dayStamp, isValidSignature, sign, stampAge } from "./stamp.ts";

/**
 * The Sender Rewriting Scheme: a forwarder puts its own domain into the envelope sender, so that SPF passes at the next
 * hop, and encodes the original sender in the local part, with a signature and date.
 *
 *     SRS0=<signature>=<day>=<domain>=<local>@forwarder          for a plain sender
 * SRS1=<signature>=<first forwarder>=<rest of its SRS0>@us   for another forwarder's SRS address: at most two
 *     hops
 *
 * Relays and mailbox providers change the case of local parts, so everything here is case-insensitive.
 */
export interface Srs {
  /**
   * Returns the envelope sender for forwarding. The null sender is unchanged, since a bounce must never cause a bounce
   * (RFC 5321 4.5.5), and so is an address in the forwarder's own domain.
   */
  forward(sender: string, now: number): SrsForward;
  /**
   * Returns the destination of a message to one of the forwarder's SRS addresses. Only bounces may be sent there: the
   * caller must accept the null sender only.
   */
  reverse(address: string, now: number): SrsReverse;
  /** Returns true if an address has the form of the forwarder's SRS addresses, whether valid or not. */
  isOurs(address: string): boolean;
}

/**
 * `too-long`: the rewritten local part would exceed 64 octets (RFC 5321 4.5.3.1.1); `not-plain`: the local part cannot
 * be nested (quotes, non-ASCII letters, an address literal). In both cases, a stored token can replace the address.
 */
export type SrsForward =
  | { ok: true; address: string }
  | { ok: false; why: "too-long" | "not-plain" | "not-an-address" };

type SrsReverse = { ok: true; address: string } | { ok: false; why: "not-srs" | "forged" | "expired" };

interface SrsOptions {
  /** The domain whose SPF record covers this server. */
  domain: string;
  /**
   * The first key signs; all keys are accepted, so that a key can be replaced while bounces signed with the old one are
   * in transit.
   */
  keys: readonly [string, ...string[]];
  /** Default 21: servers stop retrying after five days, but people may be on holiday for longer. */
  maxAgeDays?: number;
  /** Signature length in characters of 5 bits each. Default 8. */
  signatureLength?: number;
}

/** RFC 5321 4.5.3.1.1 and 4.5.3.1.3, the latter without angle brackets. */
const MAX_LOCAL_LENGTH = 64;
const MAX_PATH_LENGTH = 254;

/** dot-string (RFC 5321 4.1.2) without "@": allowed in a local part unquoted. */
const PLAIN_LOCAL = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/;
const PLAIN_DOMAIN = /^[a-z0-9_.-]+$/;

/** The first separator may be "=", "+" or "-"; all others are "=". */
const SRS0 = /^SRS0[=+-]([^=]{2,32})=([^=]{2})=([^=]{1,253})=(.+)$/i;
const SRS0_REST = /^SRS0([=+-].+)$/i;
const SRS1 = /^SRS1[=+-]([^=]{2,32})=([^=]{1,253})=([=+-].+)$/i;

export function createSrs({ domain, keys, maxAgeDays = 21, signatureLength = 8 }: SrsOptions): Srs {
  const ourDomain = domain.toLowerCase();
  if (keys.length === 0 || keys.some((key) => key === ""))
    throw new TypeError("SRS needs at least one key, and no key may be empty");
  if (signatureLength < 4 || signatureLength > 32) throw new TypeError("an SRS signature must have 4 to 32 characters");

  function splitAddress(address: string): { local: string; domain: string } | undefined {
    const at = address.lastIndexOf("@");
    return at > 0 && address.slice(at + 1).toLowerCase() === ourDomain && address.length <= MAX_PATH_LENGTH
      ? { local: address.slice(0, at), domain: ourDomain }
      : undefined;
  }

  function rewriteAddress(local: string, from: string, now: number): string {
    const srs1Match = SRS1.exec(local);
    // A third forwarder preserves the first one and removes the second, so that the return path remains two hops long.
    if (srs1Match)
      return `SRS1=${sign(keys[0], [srs1Match[2]!, srs1Match[3]!], signatureLength)}=${srs1Match[2]}=${srs1Match[3]}`;
    const rest = SRS0_REST.exec(local)?.[1];
    if (rest !== undefined && SRS0.test(local))
      return `SRS1=${sign(keys[0], [from, rest], signatureLength)}=${from}=${rest}`;
    const day = dayStamp(now);
    return `SRS0=${sign(keys[0], [day, from, local], signatureLength)}=${day}=${from}=${local}`;
  }

  function reverse(address: string, now: number): SrsReverse {
    const local = splitAddress(address)?.local;
    if (local === undefined) return { ok: false, why: "not-srs" };
    const srs1Match = SRS1.exec(local);
    if (srs1Match) {
      const [, signature, first, rest] = srs1Match as unknown as [string, string, string, string];
      if (!isValidSignature(keys, [first, rest], signature, signatureLength)) return { ok: false, why: "forged" };
      return { ok: true, address: `SRS0${rest}@${first}` };
    }
    const srs0Match = SRS0.exec(local);
    if (!srs0Match) return { ok: false, why: "not-srs" };
    const [, signature, day, from, user] = srs0Match as unknown as [string, string, string, string, string];
    if (!isValidSignature(keys, [day, from, user], signature, signatureLength)) return { ok: false, why: "forged" };
    const age = stampAge(day, now);
    // One day in the future is valid: the clock of another server may already be past midnight.
    if (age === undefined || age > maxAgeDays) return { ok: false, why: "expired" };
    return { ok: true, address: `${user}@${from}` };
  }

  return {
    forward(sender, now) {
      if (sender === "") return { ok: true, address: "" };
      const parsed = parseAddress(sender);
      if (parsed === undefined) return { ok: false, why: "not-an-address" };
      if (parsed.domain === ourDomain) return { ok: true, address: sender };
      if (!PLAIN_LOCAL.test(parsed.local) || !PLAIN_DOMAIN.test(parsed.domain)) return { ok: false, why: "not-plain" };
      const local = rewriteAddress(parsed.local, parsed.domain, now);
      if (local.length > MAX_LOCAL_LENGTH || local.length + 1 + ourDomain.length > MAX_PATH_LENGTH)
        return { ok: false, why: "too-long" };
      return { ok: true, address: `${local}@${ourDomain}` };
    },
    reverse,
    isOurs: (address) => {
      const local = splitAddress(address)?.local;
      return local !== undefined && (SRS0.test(local) || SRS1.test(local));
    },
  };
}
