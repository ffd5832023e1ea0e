import { isIPv4 } from "node:net";
import type { Clock } from "../../kernel/index.ts";
import { addressOctets } from "../../protocol/dns/index.ts";

export interface RateLimit {
  /** Answers in a second to one network (IPv4 /24, IPv6 /56). */
  perSecond: number;
  /** How many of them at once. Default: two seconds' worth. */
  burst?: number;
}

/** "truncate": the answer has TC set and no records, so that whoever really asked comes back over TCP. */
export type Verdict = "answer" | "truncate" | "drop";

/** Networks that are remembered; those heard of longest ago are forgotten first. */
const MAX_NETWORKS = 20_000;

/** A bucket for each network that asks over UDP, where addresses can be forged: our answers must be no weapon against them. */
export function createRateLimit(
  { perSecond, burst = 2 * perSecond }: RateLimit,
  clock: Clock,
  max = MAX_NETWORKS,
): (address: string) => Verdict {
  const buckets = new Map<string, { left: number; at: number; over: number }>();

  return (address) => {
    const network = networkOf(address);
    const now = clock.now();
    const bucket = buckets.get(network) ?? { left: burst, at: now, over: 0 };
    buckets.delete(network);
    if (buckets.size >= max) buckets.delete(buckets.keys().next().value!);
    buckets.set(network, bucket);
    bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left--;
      bucket.over = 0;
      return "answer";
    }
    // Every other one: half of what is forged goes nowhere.
    return bucket.over++ % 2 === 0 ? "truncate" : "drop";
  };
}

export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (isIPv4(plain)) return plain.slice(0, plain.lastIndexOf("."));
  return addressOctets(plain).toString("hex", 0, 7);
}
