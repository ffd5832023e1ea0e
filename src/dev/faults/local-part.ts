import type { DeliveryFault } from "./delivery-fault.ts";

/** Shorter than the 30 seconds for which a worker may run, so that the worker can handle the error. */
const TIMEOUT_MS = 10_000;
/** A reply code of RFC 5321 4.2 for a failure, or a word; a subaddress is ignored. */
const CODE = /^(?:([45][0-5]\d)|(timeout|drop))(?:\+[^@]*)?@/i;

/**
 * Returns the fault that the local part of a destination requests: `550@…` and `451@…` (any 4xx or 5xx code),
 * `timeout@…`, `drop@…`.
 */
export function faultOfLocalPart(address: string): DeliveryFault | undefined {
  const [, code, word] = CODE.exec(address) ?? [];
  if (code !== undefined)
    return {
      kind: "reply",
      reply: { code: Number(code), enhanced: `${code[0]}.0.0`, text: `simulated reply for ${address}` },
    };
  if (word === undefined) return undefined;
  return word.toLowerCase() === "drop" ? { kind: "drop" } : { kind: "timeout", ms: TIMEOUT_MS };
}
