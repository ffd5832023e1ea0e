/** Answers to reads, each with the version of what it was read from. Bounded by octets; what was used last stays longest. */
export interface ReadCache {
  /** Undefined when it was never read, or something has changed since. */
  get(url: string, version: number): string | undefined;
  /** `version` was taken before reading: a change in between makes the answer unusable, not wrong. */
  put(url: string, version: number, answer: string): void;
}

interface Entry {
  version: number;
  answer: string;
  octets: number;
  /** Since it came, or since its last turn. */
  used: boolean;
}

const MAX_OCTETS = 32 * 1024 * 1024;
/** One long answer is no reason to forget many short ones. */
const MAX_ANSWER = 256 * 1024;

export function createReadCache(maxOctets = MAX_OCTETS): ReadCache {
  const entries = new Map<string, Entry>();
  let octets = 0;

  function forget(url: string, entry: Entry) {
    entries.delete(url);
    octets -= entry.octets;
  }

  /** What was asked for since its last turn gets another one: nearly the order of last use, and a read moves nothing. */
  function makeRoom() {
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
      // V8 keeps text with characters beyond Latin-1 in two octets each.
      const entry = { version, answer, used: false, octets: 2 * (answer.length + url.length) };
      if (entry.octets > MAX_ANSWER) return;
      const before = entries.get(url);
      if (before !== undefined) forget(url, before);
      entries.set(url, entry);
      octets += entry.octets;
      if (octets > maxOctets) makeRoom();
    },
  };
}
