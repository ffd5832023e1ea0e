import { setTimeout as sleep } from "node:timers/promises";
import type { LogEntry } from "./log.ts";

interface FollowOptions {
  /** Resolves with the newest entries, newest first, up to a constant limit. */
  read: () => Promise<LogEntry[]>;
  /** Maximum number of entries printed by the first poll. */
  first: number;
  /** Oldest first. */
  print: (entries: readonly LogEntry[]) => void;
  /** Called if more entries arrived between two polls than one poll returns. */
  onGap: () => void;
  signal: AbortSignal;
  /** Pause between polls; rejects on the signal. Replaceable for tests. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const POLL_INTERVAL_MS = 2000;

/** Prints entries as they arrive, and again when their result changes, until the signal. */
export async function followLog({
  read,
  first,
  print,
  onGap,
  signal,
  pause = (ms, ended) => sleep(ms, undefined, { signal: ended }),
}: FollowOptions): Promise<void> {
  let printed: Map<string, string> | undefined;
  while (!signal.aborted) {
    const entries = await read();
    const newEntries =
      printed === undefined ? entries.slice(0, first) : entries.filter(({ id, status }) => printed!.get(id) !== status);
    if (printed !== undefined && printed.size > 0 && entries.length > 0 && entries.every(({ id }) => !printed!.has(id)))
      onGap();
    if (newEntries.length > 0) print(newEntries.toReversed());
    printed = new Map(entries.map(({ id, status }) => [id, status]));
    await pause(POLL_INTERVAL_MS, signal).catch((err: unknown) => {
      if (!signal.aborted) throw err;
    });
  }
}
