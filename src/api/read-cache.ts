/**
 * A cache of read responses, each with the version of its data and the read that produced it. Limited in bytes; evicts
 * the least recently used entries.
 */
export interface ReadCache<Read> {
  /** Returns the cached response; undefined if there is none or it is outdated. */
  get(url: string, version: number): string | undefined;
  /** Returns the cached read at this URL, whether or not its response is outdated. */
  readAt(url: string): Read | undefined;
  /**
   * Stores the response of a URL that is read for the second time. Obtain `version` before reading the data: a concurrent
   * change then makes the entry outdated instead of wrong.
   */
  put(url: string, version: number, response: string, read: Read): void;
}

interface Entry<Read> {
  read: Read;
  version: number;
  response: string;
  octets: number;
  /** True if the entry has been used since it was added or last examined. */
  used: boolean;
}

const MAX_CACHE_OCTETS = 32 * 1024 * 1024;
/** A single long response must not evict many short ones. */
const MAX_RESPONSE_OCTETS = 256 * 1024;
const MAX_RECENT_URLS = 2048;
/** Longer URLs are never stored. */
const MAX_URL_LENGTH = 1024;

export function createReadCache<Read>(maxOctets = MAX_CACHE_OCTETS): ReadCache<Read> {
  const entries = new Map<string, Entry<Read>>();
  /**
   * URLs that were read once, in two generations. Most reads of a crawl are never repeated: their responses would evict
   * others, and the garbage collector would copy each of them twice.
   */
  let recentUrls = new Set<string>();
  let olderUrls = new Set<string>();
  let octets = 0;

  function forget(url: string, entry: Entry<Read>) {
    entries.delete(url);
    octets -= entry.octets;
  }

  function isRepeated(url: string): boolean {
    if (entries.has(url) || recentUrls.has(url) || olderUrls.has(url)) return true;
    if (recentUrls.size >= MAX_RECENT_URLS) [recentUrls, olderUrls] = [new Set(), recentUrls];
    recentUrls.add(url);
    return false;
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
      return entry.response;
    },
    readAt: (url) => entries.get(url)?.read,
    put(url, version, response, read) {
      if (url.length > MAX_URL_LENGTH || !isRepeated(url)) return;
      // V8 uses two bytes per character for text with characters beyond Latin-1.
      const entry = { read, version, response, used: false, octets: 2 * (response.length + url.length) };
      if (entry.octets > MAX_RESPONSE_OCTETS) return;
      const before = entries.get(url);
      if (before !== undefined) forget(url, before);
      entries.set(url, entry);
      octets += entry.octets;
      if (octets > maxOctets) evict();
    },
  };
}
