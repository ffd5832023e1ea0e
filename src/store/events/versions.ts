import type { Events } from "./port.ts";

/**
 * A version number for each changing item, in memory: data read under a version is valid as long as the version is
 * unchanged.
 */
export interface Versions {
  /** Call it before reading the data. Undefined if another process may change the item without immediate notice. */
  of(id: string): number | undefined;
  /** Call it after the commit of a change and before the response; other processes receive the event. */
  markChanged(id: string): void;
  close(): void;
}

/** Maximum number of recently changed items; all others share one version. */
const MAX_KNOWN = 10_000;

/** `alone`: this process is the only writer (SQLite). */
export function createVersions({ events, topic, alone }: { events: Events; topic: string; alone: boolean }): Versions {
  const known = new Map<string, number>();
  let newest = 0;
  let others = 0;

  function bump(id: string) {
    newest++;
    if (id !== "" && known.size < MAX_KNOWN) return void known.set(id, newest);
    known.clear();
    others = newest;
  }

  const unsubscribe = events.subscribe(topic, bump);
  return {
    of: (id) => (alone ? (known.get(id) ?? others) : undefined),
    markChanged(id) {
      bump(id);
      events.publish(topic, id);
    },
    close: unsubscribe,
  };
}
