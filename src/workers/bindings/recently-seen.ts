import type { Clock } from "../../kernel/index.ts";

/** Long enough to spare a busy worker the question, short enough that a change made on another machine is soon known. */
const FRESH_MS = 5_000;
const MOST = 10_000;

/** What a database said lately about a key, for callers that ask on every request. */
export interface RecentlySeen<Value> {
  get(key: string): Value | undefined;
  add(key: string, value: Value): void;
  delete(key: string): void;
}

export function createRecentlySeen<Value>(clock: Clock, { freshMs = FRESH_MS, most = MOST } = {}): RecentlySeen<Value> {
  const entries = new Map<string, { value: Value; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.now()) return undefined;
      return entry.value;
    },
    add(key, value) {
      // Once more at the end: a Map keeps the order of insertion, so the first is the oldest.
      entries.delete(key);
      if (entries.size >= most) entries.delete(entries.keys().next().value!);
      entries.set(key, { value, until: clock.now() + freshMs });
    },
    delete: (key) => void entries.delete(key),
  };
}
