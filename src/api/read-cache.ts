/**
 * A cache of read responses, each with the version of its data. Limited in bytes; evicts the least recently used
 * entries.
 */
interface ReadCache {
  /** Undefined if not cached or outdated. */
  get(url: string, version: number): string | undefined;
  /** Read `version` before reading the data: a concurrent change then makes the entry outdated instead of wrong. */
  put(url: string, version: number, answer: string): void;
}

interface Entry {
  version: number;
  answer: string;
  octets: number;
  /** True if the entry has been used since it was added or last examined. */
  used: boolean;
}

const MAX_CACHE_OCTETS = 32 * 1024 * 1024;
/** A single long response must not evict many short ones. */
const MAX_ANSWER_OCTETS = 256 * 1024;

export function createReadCache(maxOctets = MAX_CACHE_OCTETS): ReadCache {
  const entries = new Map<string, Entry>();
  let octets = 0;

  function forget(url: string, entry: Entry) {
    entries.delete(url);
    octets -= entry.octets;
  }

  /**
   * Clock eviction: entries used since they were last examined are skipped once. Approximates LRU without moving
   * entries on reads.
   */
  function evict() {
    for (const [url, entry] of entries) {
      if (octets <= maxOctets) return;
      entries.delete(url);
      if (entry.used) entries.set(url, { ...entry, used: false });
      else octets -= entry.octets;
    }
  }

  return {
    get(url, version) {
      const entry = entries.get(url);
      if (entry === undefined) return undefined;
      if (entry.version !== version) return void forget(url, entry);
      entry.used = true;
      return entry.answer;
    },
    put(url, version, answer) {
      // V8 uses two bytes per character for text with characters beyond Latin-1.
      const entry = { version, answer, used: false, octets: 2 * (answer.length + url.length) };
      if (entry.octets > MAX_ANSWER_OCTETS) return;
      const before = entries.get(url);
      if (before !== undefined) forget(url, before);
      entries.set(url, entry);
      octets += entry.octets;
      if (octets > maxOctets) evict();
    },
  };
}
