import type { Events } from "./port.ts";

/** A number for each thing that changes, kept in memory: what was read under one number is still true while the number stays. */
export interface Versions {
  /** Take it before reading. Undefined where another process may change the thing without our knowing at once. */
  of(id: string): number | undefined;
  /** Called when a change is committed and before it is answered; the others hear of it by the event. */
  changed(id: string): void;
  close(): void;
}

/** Things that changed lately; the rest share one number. */
const MAX_KNOWN = 10_000;

/** `alone`: whether this process is the only one that writes (SQLite). */
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
    changed(id) {
      bump(id);
      events.publish(topic, id);
    },
    close: unsubscribe,
  };
}
