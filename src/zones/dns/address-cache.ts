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

interface FoundAddress {
  addresses: string[];
  /** Seconds until expiry. */
  ttl: number;
}

const TIMEOUT_MS = 2000;
/** Maximum number of concurrent upstream queries, because clients can trigger them. */
const MAX_PENDING_LOOKUPS = 50;
const MAX_CACHED_HOSTS = 1000;
/** Bounds for TTLs received from foreign servers, in seconds. */
const [MIN_TTL_SECONDS, MAX_TTL_SECONDS] = [30, 3600];

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
  const cachedAddresses = new Map<string, { until: number; addresses: string[] }>();
  const pendingLookups = new Map<string, Promise<{ until: number; addresses: string[] }>>();

  async function queryHost(key: string, host: string, type: AddressType) {
    const foundAddresses = await withTimeout((signal) => lookUp(host, type, signal));
    const ttl = Math.min(
      MAX_TTL_SECONDS,
      Math.max(MIN_TTL_SECONDS, Math.min(...foundAddresses.map((foundAddress) => foundAddress.ttl), MAX_TTL_SECONDS)),
    );
    const entry = {
      until: clock.now() + 1000 * (foundAddresses.length === 0 ? MIN_TTL_SECONDS : ttl),
      addresses: foundAddresses.map(({ address }) => address),
    };
    cachedAddresses.delete(key);
    if (cachedAddresses.size >= MAX_CACHED_HOSTS) cachedAddresses.delete(cachedAddresses.keys().next().value!);
    cachedAddresses.set(key, entry);
    return entry;
  }

  // Rejects after the timeout, even if the lookup ignores the abort signal.
  function withTimeout<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.timeout(timeoutMs);
    return Promise.race([
      work(signal),
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ]);
  }

  return async (host: string, type: AddressType): Promise<FoundAddress> => {
    const key = `${type} ${host}`;
    let entry = cachedAddresses.get(key);
    if (entry === undefined || entry.until <= clock.now()) {
      let pending = pendingLookups.get(key);
      if (pending === undefined) {
        if (pendingLookups.size >= MAX_PENDING_LOOKUPS) throw new Error("too many names are being looked up");
        pending = queryHost(key, host, type).finally(() => pendingLookups.delete(key));
        pendingLookups.set(key, pending);
      }
      entry = await pending;
    }
    return { addresses: entry.addresses, ttl: Math.max(1, Math.ceil((entry.until - clock.now()) / 1000)) };
  };
}
