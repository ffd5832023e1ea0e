import type { Clock } from "../../kernel/index.ts";

export type AddressType = "A" | "AAAA";

/**
 * Looks up a host in public DNS. An empty list means that the host has no such addresses. Rejects if the result is
 * uncertain.
 */
export type LookUpAddresses = (
  host: string,
  type: AddressType,
  signal: AbortSignal,
) => Promise<{ address: string; ttl: number }[]>;

interface Found {
  addresses: string[];
  /** Seconds until expiry. */
  ttl: number;
}

const TIMEOUT_MS = 2000;
/** Maximum number of concurrent upstream queries, because clients can trigger them. */
const MAX_WAITING = 50;
const MAX_KEPT = 1000;
/** Bounds for TTLs received from foreign servers, in seconds. */
const [MIN_TTL, MAX_TTL] = [30, 3600];

/** Caches the addresses of a host for its TTL; concurrent callers share one lookup. Failures are not cached. */
export function createAddressCache({
  clock,
  lookUp,
  timeoutMs = TIMEOUT_MS,
}: {
  clock: Clock;
  lookUp: LookUpAddresses;
  timeoutMs?: number;
}) {
  const kept = new Map<string, { until: number; addresses: string[] }>();
  const waiting = new Map<string, Promise<{ until: number; addresses: string[] }>>();

  async function ask(key: string, host: string, type: AddressType) {
    const found = await withTimeout((signal) => lookUp(host, type, signal));
    const ttl = Math.min(MAX_TTL, Math.max(MIN_TTL, Math.min(...found.map((one) => one.ttl), MAX_TTL)));
    const entry = {
      until: clock.now() + 1000 * (found.length === 0 ? MIN_TTL : ttl),
      addresses: found.map(({ address }) => address),
    };
    kept.delete(key);
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!);
    kept.set(key, entry);
    return entry;
  }

  // The lookup may ignore the abort signal.
  function withTimeout<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.timeout(timeoutMs);
    return Promise.race([
      work(signal),
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ]);
  }

  return async (host: string, type: AddressType): Promise<Found> => {
    const key = `${type} ${host}`;
    let entry = kept.get(key);
    if (entry === undefined || entry.until <= clock.now()) {
      let pending = waiting.get(key);
      if (pending === undefined) {
        if (waiting.size >= MAX_WAITING) throw new Error("too many names are being looked up");
        pending = ask(key, host, type).finally(() => waiting.delete(key));
        waiting.set(key, pending);
      }
      entry = await pending;
    }
    return { addresses: entry.addresses, ttl: Math.max(1, Math.ceil((entry.until - clock.now()) / 1000)) };
  };
}
