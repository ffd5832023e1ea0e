import type { Clock } from "./clock.ts";

/** What was read a moment ago, by key. Absent things are not kept: they may appear at any time, and nobody should push others out by asking for them. */
export interface Recent<Value> {
  get(key: string): Promise<Value | undefined>;
  /** True if the value is cached. */
  has(key: string): boolean;
  /** From now on these are read anew, also by who is just waiting for a reading that began before. */
  forget(which: (value: Value, key: string) => boolean): void;
}

/** At most `max` values, each for `freshMs`; one reading at a time for each key. */
export function createRecent<Value>({
  read,
  clock,
  max,
  freshMs,
}: {
  read(key: string): Promise<Value | undefined>;
  clock: Clock;
  max: number;
  freshMs: number;
}): Recent<Value> {
  const values = new Map<string, { value: Value; until: number }>();
  const readings = new Map<string, Promise<Value | undefined>>();

  async function readAndKeep(key: string): Promise<Value | undefined> {
    const until = clock.now() + freshMs;
    const reading = read(key);
    readings.set(key, reading);
    try {
      const value = await reading;
      // Not ours any more: something was forgotten since, and this may be what it was before.
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

  return {
    async get(key) {
      const known = values.get(key);
      if (known !== undefined && known.until > clock.now()) return known.value;
      return readings.get(key) ?? readAndKeep(key);
    },
    has: (key) => (values.get(key)?.until ?? -Infinity) > clock.now(),
    forget(which) {
      readings.clear();
      for (const [key, { value }] of values) if (which(value, key)) values.delete(key);
    },
  };
}
