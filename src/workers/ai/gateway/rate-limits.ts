import type { Clock } from "../../../kernel/index.ts";
import type { AiGateway } from "./port.ts";

interface GatewayRateLimits {
  /** Counts a request. Returns false if the gateway has reached its limit. */
  count(gateway: AiGateway): boolean;
}

/** Maximum number of gateways that are counted; a further one evicts the one that was counted first. */
const MAX_GATEWAYS = 10_000;

/**
 * Counts requests in memory, so each server process has its own counts. A sliding window is estimated from the counts
 * of the current and the previous period.
 */
export function createGatewayRateLimits(clock: Clock): GatewayRateLimits {
  const counts = new Map<string, { period: number; current: number; previous: number }>();
  return {
    count({ account, id, rateLimit, rateLimitInterval, rateLimitTechnique }) {
      if (rateLimit === 0) return true;
      const key = `${account}/${id}/${rateLimitInterval}`;
      const position = clock.now() / (rateLimitInterval * 1000);
      const period = Math.floor(position);
      const last = counts.get(key);
      const current = last?.period === period ? last.current : 0;
      const previous = last?.period === period ? last.previous : last?.period === period - 1 ? last.current : 0;
      const used = current + (rateLimitTechnique === "sliding" ? previous * (1 - (position - period)) : 0);
      if (used + 1 > rateLimit) return false;
      if (last === undefined && counts.size >= MAX_GATEWAYS) counts.delete(counts.keys().next().value!);
      counts.set(key, { period, current: current + 1, previous });
      return true;
    },
  };
}
