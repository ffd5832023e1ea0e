import { every, type Repetition } from "../../../kernel/periodic.ts";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import type { LiveHealth, LiveSession, LiveSessions } from "../session.ts";
import { createHealthTable } from "./health-table.ts";
import { createSamplesTable } from "./samples-table.ts";

interface LiveHealthReportsDeps {
  db: Db;
  /** Sessions of this process; absent if it accepts no publishers. */
  sessions?: Pick<LiveSessions, "all" | "of">;
  /** Viewers of a broadcast. If omitted, samples have no viewers. */
  viewers?(input: string): Promise<number>;
  /** Called with the broadcasts whose measurements were published. Must not throw. */
  onPublished?(sessions: readonly LiveSession[]): void;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** One measurement of a broadcast. */
export interface LiveSample extends Pick<
  LiveHealth,
  "videoBitrate" | "audioBitrate" | "frameRate" | "keyFrameInterval" | "dropped" | "lost"
> {
  /** Epoch milliseconds. */
  at: number;
  /** Null if not counted, because this process receives too many broadcasts. */
  viewers: number | null;
}

/** Health of broadcasts, available in every process, whichever one receives them. */
export interface LiveHealthReports {
  /** Current if this process receives the broadcast, else a few seconds old; undefined: no publisher. */
  of(input: string): Promise<LiveHealth | undefined>;
  /** Resolves with the measurements since the given time, oldest first: one every five seconds, for up to an hour. */
  samples(input: string, since: number): Promise<LiveSample[]>;
  /** Publishes the health to the other processes now. Runs automatically every five seconds once started. */
  publish(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

const REPORT_INTERVAL_MS = 5000;
const MAX_REPORT_AGE_MS = 15_000;
const FORGET_AFTER_MS = 60_000;
const KEEP_SAMPLES_MS = 3_600_000;
const MAX_SAMPLES = KEEP_SAMPLES_MS / REPORT_INTERVAL_MS;
/** Each count may read the database. */
const MAX_COUNTED = 100;
/** Rows per statement. */
const BATCH = 500;

export function createLiveHealthReports({
  db,
  sessions,
  viewers,
  onPublished,
  clock,
  log,
}: LiveHealthReportsDeps): LiveHealthReports {
  const table = createHealthTable(db);
  const samples = createSamplesTable(db);
  let publishing: Repetition | undefined;
  let hasReported = false;

  async function write(): Promise<void> {
    const now = clock.now();
    const published = sessions?.all() ?? [];
    const rows = published.map((session) => ({
      input_uid: session.input.uid,
      at: now,
      health: JSON.stringify(session.health()),
    }));
    if (rows.length === 0 && !hasReported) return;
    for (let i = 0; i < rows.length; i += BATCH) await table.note(rows.slice(i, i + BATCH));
    await table.forget(now - FORGET_AFTER_MS);
    const measured = await Promise.all(published.map((session) => sampleOf(session, now, published.length)));
    for (let i = 0; i < measured.length; i += BATCH) await samples.add(measured.slice(i, i + BATCH));
    await samples.forget(now - KEEP_SAMPLES_MS);
    if (published.length > 0) onPublished?.(published);
    hasReported = rows.length > 0;
  }

  async function sampleOf(session: LiveSession, at: number, sessionCount: number) {
    const { uid } = session.input;
    const { videoBitrate, audioBitrate, frameRate, keyFrameInterval, dropped, lost } = session.health();
    const sample: Omit<LiveSample, "at"> = {
      videoBitrate,
      audioBitrate,
      frameRate,
      keyFrameInterval,
      dropped,
      lost,
      viewers: viewers === undefined || sessionCount > MAX_COUNTED ? null : await viewers(uid),
    };
    return { input_uid: uid, at, sample: JSON.stringify(sample) };
  }

  return {
    async samples(input, since) {
      const rows = await samples.since(input, since, MAX_SAMPLES);
      return rows.map(({ at, sample }) => ({ at, ...(JSON.parse(sample) as Omit<LiveSample, "at">) }));
    },
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
