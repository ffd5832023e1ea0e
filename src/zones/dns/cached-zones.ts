import type { Clock } from "../../kernel/index.ts";
import type { ServedZone, ServedZones } from "./served.ts";

interface Entry<Value> {
  value: Value;
  version: number | undefined;
  until: number;
}

/** Maximum staleness of an answer, in milliseconds. */
const KEPT_MS = 2000;
const MAX_KEPT = 20_000;

/**
 * The same zones with a read cache. Entries are valid while the zone's version is unchanged, but at most two seconds,
 * so that changes by other processes become visible. Missing zones are not cached.
 */
export function createCachedZones(zones: ServedZones, clock: Clock, max = MAX_KEPT): ServedZones {
  const kept = <Value>() => createKept<Value>(max, clock);
  const found = kept<ServedZone>();
  const read = kept<Awaited<ReturnType<ServedZones["records"]>>>();
  const occupied = kept<boolean>();

  return {
    version: zones.version,
    async find(name) {
      const entry = found.get(name);
      if (entry !== undefined && entry.version === zones.version(entry.value.id)) return entry.value;
      const zone = await zones.find(name);
      if (zone !== undefined) found.set(name, zone, zones.version(zone.id));
      return zone;
    },
    records: (zone, names) => remembered(read, zone, names.join(" "), () => zones.records(zone, names)),
    occupied: (zone, name) => remembered(occupied, zone, name, () => zones.occupied(zone, name)),
  };

  async function remembered<Value>(
    known: Kept<Value>,
    zone: ServedZone,
    what: string,
    ask: () => Promise<Value>,
  ): Promise<Value> {
    const key = `${zone.id} ${what}`;
    // The version is read first: a concurrent change then makes the entry stale.
    const version = zones.version(zone.id);
    const entry = known.get(key);
    if (entry !== undefined && entry.version === version) return entry.value;
    const value = await ask();
    known.set(key, value, version);
    return value;
  }
}

interface Kept<Value> {
  get(key: string): Entry<Value> | undefined;
  set(key: string, value: Value, version: number | undefined): void;
}

function createKept<Value>(max: number, clock: Clock): Kept<Value> {
  const entries = new Map<string, Entry<Value>>();
  return {
    get(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() ? entry : undefined;
    },
    set(key, value, version) {
      entries.delete(key);
      if (entries.size >= max) entries.delete(entries.keys().next().value!);
      entries.set(key, { value, version, until: clock.now() + KEPT_MS });
    },
  };
}
