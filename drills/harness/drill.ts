/**
 * Injects faults and counts those that the tests detect. Each `drills/<name>.drill.ts` exports one drill as its
 * default export.
 */
export interface Drill {
  name: string;
  run(kit: DrillContext): Promise<DrillResult>;
}

export interface DrillContext {
  /** The checkout, read-only. */
  root: string;
  /** Temporary folder, removed at the end. */
  dir: string;
  /** Number of concurrent tests. */
  jobs: number;
  /** Selects items whose name contains one of these words; empty: all. */
  only: readonly string[];
  /** Duration of the load, if given. */
  seconds?: number;
  /** Prints a line to stderr. */
  say(line: string): void;
  /** Callbacks run in reverse order, even if the drill fails. */
  onStop(stop: () => Promise<void> | void): void;
}

export interface DrillResult {
  /** Printed as the last line of output. */
  summary: Record<string, unknown>;
  /** If false, the process exits with code 1. */
  ok: boolean;
}
