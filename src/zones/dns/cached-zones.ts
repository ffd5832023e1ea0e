import type { Clock } from "../../kernel/index.ts";
import type { ServedZone, ServedZones } from "./served.ts";

interface Entry<Value> {
  value: Value;
  version: number | undefined;
  until: number;
}

/** Maximum staleness of an answer, in milliseconds. */
const CACHE_TTL_MS = 2000;
const MAX_CACHED_ENTRIES = 20_000;

/**
 * Wraps the zones in a read cache. Entries are valid while the zone's version is unchanged, but at most two seconds, so
 * that changes by other processes become visible. Missing zones are not cached.
 */
export function createCachedZones(zones: ServedZones, clock: Clock, max = MAX_CACHED_ENTRIES): ServedZones {
  const createCache = <Value>() => createZoneCache<Value>(max, clock);
  const foundZones = createCache<ServedZone>();
  const read = createCache<Awaited<ReturnType<ServedZones["records"]>>>();
  const occupiedNames = createCache<boolean>();

  return {
    version: zones.version,
    async find(name) {
      const entry = foundZones.get(name);
      if (entry !== undefined && entry.version === zones.version(entry.value.id)) return entry.value;
      const zone = await zones.find(name);
      if (zone !== undefined) foundZones.set(name, zone, zones.version(zone.id));
      return zone;
    },
    records: (zone, names) => readThrough(read, zone, names.join(" "), () => zones.records(zone, names)),
    occupied: (zone, name) => readThrough(occupiedNames, zone, name, () => zones.occupied(zone, name)),
  };

  async function readThrough<Value>(
    cachedValues: ZoneCache<Value>,
    zone: ServedZone,
    what: string,
    loadValue: () => Promise<Value>,
  ): Promise<Value> {
    const key = `${zone.id} ${what}`;
    // The version is read first: a concurrent change then makes the entry stale.
    const version = zones.version(zone.id);
    const entry = cachedValues.get(key);
    if (entry !== undefined && entry.version === version) return entry.value;
    const value = await loadValue();
    cachedValues.set(key, value, version);
    return value;
  }
}

interface ZoneCache<Value> {
  get(key: string): Entry<Value> | undefined;
  set(key: string, value: Value, version: number | undefined): void;
}

function createZoneCache<Value>(max: number, clock: Clock): ZoneCache<Value> {
  const entries = new Map<string, Entry<Value>>();
  return {
    get(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.until > clock.now() ? entry : undefined;
    },
    set(key, value, version) {
      entries.delete(key);
      if (entries.size >= max) entries.delete(entries.keys().next().value!);
      entries.set(key, { value, version, until: clock.now() + CACHE_TTL_MS });
    },
  };
}
