import { parseAddress } from "../rfc5322/index.ts";
import { dayStamp, isSigned, sign, stampAge } from "./stamp.ts";

/**
 * The Sender Rewriting Scheme: a forwarder puts its own domain into the envelope sender, so that SPF holds at the next hop, and keeps the
 * way back to the first sender in the local part, signed and dated.
 *
 *     SRS0=<signature>=<day>=<domain>=<local>@forwarder          written over a plain sender
 *     SRS1=<signature>=<first forwarder>=<rest of its SRS0>@us   written over somebody else's SRS address: two hops are kept, never more
 *
 * Relays and mailbox providers change the case of local parts, so nothing here depends on it.
 */
export interface Srs {
  /**
   * The envelope sender to forward with. The null sender stays the null sender: a bounce must never draw a bounce (RFC 5321 4.5.5). An
   * address of our own domain stays as it is.
   */
  forward(sender: string, now: number): SrsForward;
  /** Where a message to one of our SRS addresses belongs. Only bounces have business there: the caller lets nothing but the null sender in. */
  reverse(address: string, now: number): SrsReverse;
  /** Whether an address has the form of ours, whatever it is worth. */
  isOurs(address: string): boolean;
}

/**
 * `too-long`: the rewritten local part would have more than 64 octets (RFC 5321 4.5.3.1.1); `not-plain`: its local part cannot stand inside
 * another one (quotes, letters beyond ASCII, an address literal). In both cases a stored token in place of the address does the same work.
 */
export type SrsForward =
  | { ok: true; address: string }
  | { ok: false; why: "too-long" | "not-plain" | "not-an-address" };

export type SrsReverse = { ok: true; address: string } | { ok: false; why: "not-srs" | "forged" | "expired" };

export interface SrsOptions {
  /** The domain whose SPF record covers us. */
  domain: string;
  /** The first one signs; all of them are believed, so that a key can be replaced while bounces to the old one are on their way. */
  keys: readonly [string, ...string[]];
  /** Default 21: servers give up after five days, people's holidays take longer. */
  maxAgeDays?: number;
  /** Letters of the signature, 5 bits each. Default 8. */
  signatureLength?: number;
}

/** RFC 5321 4.5.3.1.1 and 4.5.3.1.3, the latter without the angle brackets. */
const MAX_LOCAL = 64;
const MAX_PATH = 254;

/** dot-string (RFC 5321 4.1.2) without "@": what may stand in a local part unquoted. */
const PLAIN_LOCAL = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/;
const PLAIN_DOMAIN = /^[a-z0-9_.-]+$/;

/** The first separator may be "=", "+" or "-"; the ones inside are always "=". */
const SRS0 = /^SRS0[=+-]([^=]{2,32})=([^=]{2})=([^=]{1,253})=(.+)$/i;
const SRS0_REST = /^SRS0([=+-].+)$/i;
const SRS1 = /^SRS1[=+-]([^=]{2,32})=([^=]{1,253})=([=+-].+)$/i;

export function createSrs({ domain, keys, maxAgeDays = 21, signatureLength = 8 }: SrsOptions): Srs {
  const ours = domain.toLowerCase();
  if (keys.length === 0 || keys.some((key) => key === ""))
    throw new TypeError("SRS needs at least one key, and none of them empty");
  if (signatureLength < 4 || signatureLength > 32) throw new TypeError("an SRS signature has 4 to 32 letters");

  function split(address: string): { local: string; domain: string } | undefined {
    const at = address.lastIndexOf("@");
    return at > 0 && address.slice(at + 1).toLowerCase() === ours && address.length <= MAX_PATH
      ? { local: address.slice(0, at), domain: ours }
      : undefined;
  }

  function rewritten(local: string, from: string, now: number): string {
    const again = SRS1.exec(local);
    // A third forwarder keeps the first one and cuts the second one out: the way back stays two hops long.
    if (again) return `SRS1=${sign(keys[0], [again[2]!, again[3]!], signatureLength)}=${again[2]}=${again[3]}`;
    const rest = SRS0_REST.exec(local)?.[1];
    if (rest !== undefined && SRS0.test(local))
      return `SRS1=${sign(keys[0], [from, rest], signatureLength)}=${from}=${rest}`;
    const day = dayStamp(now);
    return `SRS0=${sign(keys[0], [day, from, local], signatureLength)}=${day}=${from}=${local}`;
  }

  function reverse(address: string, now: number): SrsReverse {
    const local = split(address)?.local;
    if (local === undefined) return { ok: false, why: "not-srs" };
    const again = SRS1.exec(local);
    if (again) {
      const [, signature, first, rest] = again as unknown as [string, string, string, string];
      if (!isSigned(keys, [first, rest], signature, signatureLength)) return { ok: false, why: "forged" };
      return { ok: true, address: `SRS0${rest}@${first}` };
    }
    const once = SRS0.exec(local);
    if (!once) return { ok: false, why: "not-srs" };
    const [, signature, day, from, user] = once as unknown as [string, string, string, string, string];
    if (!isSigned(keys, [day, from, user], signature, signatureLength)) return { ok: false, why: "forged" };
    const age = stampAge(day, now);
    // A day ahead is a neighbour whose clock is past midnight already.
    if (age === undefined || age > maxAgeDays) return { ok: false, why: "expired" };
    return { ok: true, address: `${user}@${from}` };
  }

  return {
    forward(sender, now) {
      if (sender === "") return { ok: true, address: "" };
      const parsed = parseAddress(sender);
      if (parsed === undefined) return { ok: false, why: "not-an-address" };
      if (parsed.domain === ours) return { ok: true, address: sender };
      if (!PLAIN_LOCAL.test(parsed.local) || !PLAIN_DOMAIN.test(parsed.domain)) return { ok: false, why: "not-plain" };
      const local = rewritten(parsed.local, parsed.domain, now);
      if (local.length > MAX_LOCAL || local.length + 1 + ours.length > MAX_PATH) return { ok: false, why: "too-long" };
      return { ok: true, address: `${local}@${ours}` };
    },
    reverse,
    isOurs: (address) => {
      const local = split(address)?.local;
      return local !== undefined && (SRS0.test(local) || SRS1.test(local));
    },
  };
}
