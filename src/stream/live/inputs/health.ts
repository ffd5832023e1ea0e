import { every, type Repetition } from "../../../kernel/periodic.ts";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import type { LiveHealth, LiveSessions } from "../session.ts";
import { createHealthTable } from "./health-table.ts";

interface LiveHealthReportsDeps {
  db: Db;
  /** Sessions of this process; absent if it accepts no publishers. */
  sessions?: Pick<LiveSessions, "all" | "of">;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** Health of broadcasts, available in every process, whichever one receives them. */
export interface LiveHealthReports {
  /** Current if this process receives the broadcast, else a few seconds old; undefined: no publisher. */
  of(input: string): Promise<LiveHealth | undefined>;
  /** Publishes the health to the other processes now. Runs automatically every five seconds once started. */
  publish(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

const REPORT_INTERVAL_MS = 5000;
const MAX_REPORT_AGE_MS = 15_000;
const FORGET_AFTER_MS = 60_000;
/** Rows per statement. */
const BATCH = 500;

export function createLiveHealthReports({ db, sessions, clock, log }: LiveHealthReportsDeps): LiveHealthReports {
  const table = createHealthTable(db);
  let publishing: Repetition | undefined;
  let hasReported = false;

  async function write(): Promise<void> {
    const now = clock.now();
    const rows = (sessions?.all() ?? []).map((session) => ({
      input_uid: session.input.uid,
      at: now,
      health: JSON.stringify(session.health()),
    }));
    if (rows.length === 0 && !hasReported) return;
    for (let i = 0; i < rows.length; i += BATCH) await table.note(rows.slice(i, i + BATCH));
    await table.forget(now - FORGET_AFTER_MS);
    hasReported = rows.length > 0;
  }

  return {
    async of(input) {
      const localHealth = sessions?.of(input)?.health();
      if (localHealth !== undefined) return localHealth;
      const storedHealth = await table.since(input, clock.now() - MAX_REPORT_AGE_MS);
      return storedHealth === undefined ? undefined : (JSON.parse(storedHealth) as LiveHealth);
    },
    publish: write,
    start: () =>
      void (publishing ??= every(REPORT_INTERVAL_MS, write, { name: "live: publication of ingest health", log })),
    close: async () => publishing?.stop(),
  };
}
