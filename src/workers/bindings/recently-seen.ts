import type { Clock } from "../../kernel/index.ts";

/** Long enough to spare the queries of a busy worker, short enough that a change on another machine is noticed soon. */
const DEFAULT_TTL_MS = 5_000;
const MAX_ENTRIES = 10_000;

/** Recent database results by key, for callers that look up on every request. */
interface TtlCache<Value> {
  get(key: string): Value | undefined;
  add(key: string, value: Value): void;
  delete(key: string): void;
}

export function createTtlCache<Value>(
  clock: Clock,
  { freshMs = DEFAULT_TTL_MS, most = MAX_ENTRIES } = {},
): TtlCache<Value> {
  const entries = new Map<string, { value: Value; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.now()) return undefined;
      return entry.value;
    },
    add(key, value) {
      // Reinserted at the end: a Map keeps insertion order, so the first entry is the oldest.
      entries.delete(key);
      if (entries.size >= most) entries.delete(entries.keys().next().value!);
      entries.set(key, { value, until: clock.now() + freshMs });
    },
    delete: (key) => void entries.delete(key),
  };
}
