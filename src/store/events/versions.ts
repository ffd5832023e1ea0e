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

/** `alone`: no other process writes to the database. */
export function createVersions({ events, topic, alone }: { events: Events; topic: string; alone: boolean }): Versions {
  const knownVersions = new Map<string, number>();
  let newestVersion = 0;
  let othersVersion = 0;

  function bump(id: string) {
    newestVersion++;
    if (id !== "" && knownVersions.size < MAX_KNOWN) return void knownVersions.set(id, newestVersion);
    knownVersions.clear();
    othersVersion = newestVersion;
  }

  const unsubscribe = events.subscribe(topic, bump);
  return {
    of: (id) => (alone ? (knownVersions.get(id) ?? othersVersion) : undefined),
    markChanged(id) {
      bump(id);
      events.publish(topic, id);
    },
    close: unsubscribe,
  };
}
