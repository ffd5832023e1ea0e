import type { LogLine, ServerEvent } from "./api.ts";

interface EventLog {
  /** Oldest first; the same array at all times. */
  readonly events: readonly ServerEvent[];
  add(event: ServerEvent): void;
  clear(): void;
  /**
   * Resolves with the first event from index `after` that `isMatch` accepts, including later events. Call `cancel` to
   * stop waiting.
   */
  first(isMatch: (event: ServerEvent) => boolean, after: number): { found: Promise<ServerEvent>; cancel(): void };
  /** Log lines of the events. */
  lines(): LogLine[];
  clearLines(): void;
  /** Returns the kinds of events and how many of each there are. */
  describe(): string;
}

const MAX_EVENTS = 10_000;

export function createEventLog(): EventLog {
  const events: ServerEvent[] = [];
  let lines: LogLine[] = [];
  const waiting = new Set<(event: ServerEvent) => void>();

  return {
    events,
    add(event) {
      events.push(event);
      lines.push(...linesOf(event));
      if (events.length > MAX_EVENTS) events.shift();
      if (lines.length > MAX_EVENTS) lines = lines.slice(-MAX_EVENTS);
      for (const listener of waiting) listener(event);
    },
    clear() {
      events.length = 0;
      lines = [];
    },
    first(isMatch, after) {
      let cancel = () => {};
      const found = new Promise<ServerEvent>((resolve) => {
        const past = events.slice(after).find(isMatch);
        if (past !== undefined) return resolve(past);
        const listener = (event: ServerEvent) => {
          if (isMatch(event)) resolve(event);
        };
        waiting.add(listener);
        cancel = () => void waiting.delete(listener);
      });
      return { found, cancel: () => cancel() };
    },
    lines: () => [...lines],
    clearLines: () => void (lines = []),
    describe() {
      const counts = new Map<string, number>();
      for (const { event } of events) counts.set(event, (counts.get(event) ?? 0) + 1);
      return events.length === 0 ? "no events" : [...counts].map(([kind, count]) => `${count} × ${kind}`).join(", ");
    },
  };
}

const linesOf = ({ logs }: ServerEvent): LogLine[] => (Array.isArray(logs) ? (logs as LogLine[]) : []);
