/** Answers to reads, each with the version of what it was read from. Bounded by octets; what was used last stays longest. */
export interface ReadCache {
  /** Undefined when it was never read, or something has changed since. */
  get(url: string, version: number): string | undefined;
  /** `version` was taken before reading: a change in between makes the answer unusable, not wrong. */
  put(url: string, version: number, answer: string): void;
}

const MAX_OCTETS = 32 * 1024 * 1024;
/** One long answer is no reason to forget many short ones. */
const MAX_ANSWER = 256 * 1024;

export function createReadCache(maxOctets = MAX_OCTETS): ReadCache {
  const entries = new Map<string, { version: number; answer: string; octets: number }>();
  let octets = 0;

  function forget(url: string, entry: { octets: number }) {
    entries.delete(url);
    octets -= entry.octets;
  }

  return {
    get(url, version) {
      const entry = entries.get(url);
      if (entry === undefined) return undefined;
      entries.delete(url);
      if (entry.version === version) {
        // A Map iterates in insertion order: put back at the end, the first entry is the one used longest ago.
        entries.set(url, entry);
        return entry.answer;
      }
      octets -= entry.octets;
      return undefined;
    },
    put(url, version, answer) {
      // V8 keeps text with characters beyond Latin-1 in two octets each.
      const entry = { version, answer, octets: 2 * (answer.length + url.length) };
      if (entry.octets > MAX_ANSWER) return;
      const before = entries.get(url);
      if (before !== undefined) forget(url, before);
      entries.set(url, entry);
      octets += entry.octets;
      for (const [oldest, { octets: size }] of entries) {
        if (octets <= maxOctets) break;
        forget(oldest, { octets: size });
      }
    },
  };
}
