import { createHmac, timingSafeEqual } from "node:crypto";
import { canonicalDomain, parseAddress } from "../../protocol/rfc5322/index.ts";

/**
 * Return paths other than SRS: `rp-<id>-<day>-<signature>@<domain>`, or
 * `rp-<id>-<recipient>-<day>-<signature>@<domain>` for one recipient of many. Lower case, since some servers do not
 * preserve the case of a local part. The signature rejects guesses without a table lookup; the table maps the id.
 */
export interface ReturnPaths {
  /** Returns the domain that receives bounces of mail from `domain`. */
  bounceDomainOf(domain: string): string;
  /** `member`: 0-based index of the recipient. Default: all recipients of the message. */
  make(id: string, host: string, now: number, member?: number): string;
  /** True if the address has the form of a return path. */
  isReturnPath(address: string): boolean;
  read(
    address: string,
    now: number,
  ): { ok: true; id: string; member?: number } | { ok: false; why: "not-a-path" | "forged" | "expired" };
  /**
   * Returns the sending domain that complaints to this address refer to; undefined if the address does not accept
   * complaints.
   */
  complaintDomainOf(address: string): string | undefined;
}

interface PathsOptions {
  /** Newest first: the first key signs, all keys are accepted. */
  keys: readonly [string, ...string[]];
  forwardDomain: string;
  /** First label of the domains that receive bounces of sent mail. */
  label: string;
  maxAgeDays: number;
}

const LOCAL = /^rp-([0-9a-f]{20})(?:-([0-9a-z]{1,3}))?-([0-9a-z]{4})-([0-9a-v]{10})$/;
const DAY_MS = 86_400_000;
const BASE32 = "0123456789abcdefghijklmnopqrstuv";

/** Uses 80 bits of a random 128-bit id. */
export const pathId = (hex: string): string => hex.slice(0, 20);

export function createReturnPaths({ keys, forwardDomain, label, maxAgeDays }: PathsOptions): ReturnPaths {
  const forwardHost = canonicalDomain(forwardDomain) ?? forwardDomain.toLowerCase();
  const isHost = (domain: string) => domain === forwardHost || domain.startsWith(`${label}.`);

  function split(address: string) {
    const mailbox = parseAddress(address);
    if (mailbox === undefined || !isHost(mailbox.domain)) return undefined;
    const [, id, member, day, signature] = LOCAL.exec(mailbox.local.toLowerCase()) ?? [];
    return id === undefined ? undefined : { id, member, day: day!, signature: signature!, host: mailbox.domain };
  }

  return {
    bounceDomainOf: (domain) => `${label}.${canonicalDomain(domain) ?? domain.toLowerCase()}`,
    make(id, host, now, member) {
      const day = Math.floor(now / DAY_MS)
        .toString(36)
        .padStart(4, "0");
      const signed = [id, ...(member === undefined ? [] : [member.toString(36)]), day];
      return `rp-${signed.join("-")}-${sign(keys[0], [...signed, host])}@${host}`;
    },
    isReturnPath: (address) => split(address) !== undefined,
    read(address, now) {
      const path = split(address);
      if (path === undefined) return { ok: false, why: "not-a-path" };
      const givenSignature = Buffer.from(path.signature);
      const signed = [path.id, ...(path.member === undefined ? [] : [path.member]), path.day, path.host];
      if (!keys.some((key) => timingSafeEqual(givenSignature, Buffer.from(sign(key, signed)))))
        return { ok: false, why: "forged" };
      const age = Math.floor(now / DAY_MS) - Number.parseInt(path.day, 36);
      // One day in the future is valid: the clock of another server may already be past midnight.
      return age < -1 || age > maxAgeDays
        ? { ok: false, why: "expired" }
        : { ok: true, id: path.id, ...(path.member !== undefined && { member: Number.parseInt(path.member, 36) }) };
    },
    complaintDomainOf(address) {
      const mailbox = parseAddress(address);
      return mailbox?.local.toLowerCase() === "abuse" && mailbox.domain.startsWith(`${label}.`)
        ? mailbox.domain.slice(label.length + 1)
        : undefined;
    },
  };
}

/** The signature has 50 bits. */
function sign(key: string, parts: string[]): string {
  const digest = createHmac("sha256", key).update(parts.join("\0")).digest();
  return Array.from(digest.subarray(0, 10), (octet) => BASE32[octet & 31]).join("");
}
