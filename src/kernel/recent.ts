import type { Clock } from "./clock.ts";

/**
 * A short-lived cache by key. Missing values are not cached: they may appear at any time, and queries for them must not
 * evict others.
 */
export interface ReadThroughCache<Value> {
  get(key: string): Promise<Value | undefined>;
  /** The value, if it is cached. */
  peek(key: string): Value | undefined;
  /** True if the value is cached. */
  has(key: string): boolean;
  /** Invalidates values for which `matches` returns true, including reads in progress. */
  forget(matches: (value: Value, key: string) => boolean): void;
}

/** Creates a cache of at most `max` values, each kept for `ttlMs`; concurrent reads of the same key share one call. */
export function createReadThroughCache<Value>({
  read,
  clock,
  max,
  ttlMs,
}: {
  read(key: string): Promise<Value | undefined>;
  clock: Clock;
  max: number;
  ttlMs: number;
}): ReadThroughCache<Value> {
  const values = new Map<string, { value: Value; until: number }>();
  const readings = new Map<string, Promise<Value | undefined>>();

  async function readAndKeep(key: string): Promise<Value | undefined> {
    const until = clock.now() + ttlMs;
    const reading = read(key);
    readings.set(key, reading);
    try {
      const value = await reading;
      // Invalidated in the meantime: the value may be outdated.
      if (readings.get(key) !== reading) return value;
      values.delete(key);
      if (value === undefined) return undefined;
      if (values.size >= max) values.delete(values.keys().next().value!);
      values.set(key, { value, until });
      return value;
    } finally {
      if (readings.get(key) === reading) readings.delete(key);
    }
  }

  function peek(key: string): Value | undefined {
    const cachedValue = values.get(key);
    return cachedValue !== undefined && cachedValue.until > clock.now() ? cachedValue.value : undefined;
  }

  return {
    get: async (key) => peek(key) ?? readings.get(key) ?? readAndKeep(key),
    peek,
    has: (key) => peek(key) !== undefined,
    forget(matches) {
      readings.clear();
      for (const [key, { value }] of values) if (matches(value, key)) values.delete(key);
    },
  };
}
