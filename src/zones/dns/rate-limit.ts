import { isIPv4 } from "node:net";
import type { Clock } from "../../kernel/index.ts";
import { addressOctets } from "../../protocol/dns/index.ts";

export interface ResponseRateLimit {
  /** Responses per second to one network (IPv4 /24, IPv6 /56). */
  perSecond: number;
  /** Burst size. Default: the number for two seconds. */
  burst?: number;
}

/** "truncate": the response has TC set and no records, so that a genuine client retries over TCP. */
export type RateLimitDecision = "answer" | "truncate" | "drop";

/** Maximum number of networks; the least recently seen ones are evicted first. */
const MAX_NETWORKS = 20_000;

/**
 * Creates a token bucket per network that queries over UDP, where addresses can be forged. Prevents amplification
 * attacks.
 */
export function createRateLimit(
  { perSecond, burst = 2 * perSecond }: ResponseRateLimit,
  clock: Clock,
  max = MAX_NETWORKS,
): (address: string) => RateLimitDecision {
  const buckets = new Map<string, { left: number; at: number; over: number }>();

  return (address) => {
    const network = rateLimitNetwork(address);
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
    // Only every second query is answered, so half of the forged queries get no response.
    return bucket.over++ % 2 === 0 ? "truncate" : "drop";
  };
}

export function rateLimitNetwork(address: string): string {
  const plainAddress = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (isIPv4(plainAddress)) return plainAddress.slice(0, plainAddress.lastIndexOf("."));
  return addressOctets(plainAddress).toString("hex", 0, 7);
}
