import { messageOf, silentLog, systemClock, type Clock, type Log } from "../../kernel/index.ts";
import type { Db, Jobs } from "../../store/index.ts";
import type { LiveWorkers } from "../scripts/port.ts";
import { claimRuns, distinctCrons, scheduledScript, type DueSchedule } from "../scripts/schedules-table.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import { parseCron, type CronExpression } from "./cron.ts";

interface SchedulesOptions {
  db: Db;
  jobs: Jobs;
  live: LiveWorkers;
  clock?: Clock;
  log?: Log;
  /** Maximum number of scheduled handlers that one process runs concurrently. Default 20. */
  concurrency?: number;
  /** How often to poll the queue for runs added by other processes. Default 1 s. */
  pollMs?: number;
}

interface Schedules {
  close(): Promise<void>;
}

const KIND = "worker-schedule";
const MINUTE_MS = 60_000;
const BATCH_SIZE = 500;
/** A run that has waited longer than this counts as missed. */
const MAX_CATCH_UP_MS = 15 * MINUTE_MS;
const LEASE_MS = 30_000;
/** Delay after a failed check; it must be repeated within the same minute. */
const RETRY_MS = 2000;

interface Run extends DueSchedule {
  /** Minutes since the epoch. */
  minute: number;
}

/**
 * Runs the cron triggers of all workers at the start of each matching minute. Exactly one process claims a run, and
 * attempts it once. The claim and the job are stored in one transaction: if the process dies before the commit, another
 * process performs the run, or a process restarted within the same minute. Minutes in which no process is running are
 * skipped.
 */
export function createSchedules({
  db,
  jobs,
  live,
  clock = systemClock,
  log = silentLog,
  concurrency = 20,
  pollMs = 1000,
}: SchedulesOptions): Schedules {
  const tables = db.tables<ScriptsTables>();
  const isDueIn = createCalendar();
  const stopAborter = new AbortController();
  const worker = jobs.work(KIND, { concurrency, leaseMs: LEASE_MS, pollMs }, async ({ payload, attempt }) => {
    const { scriptId, cron, minute } = payload as Run;
    if (attempt > 1 || clock.now() - minute * MINUTE_MS > MAX_CATCH_UP_MS)
      return log.warn({ scriptId, cron }, "workers: scheduled run missed");
    const ref = await scheduledScript(tables, scriptId);
    if (ref === undefined) return;
    const outcome = await live.scheduled(ref, { cron, scheduledTime: new Date(minute * MINUTE_MS) });
    if (outcome.outcome !== "ok")
      log.info({ script: ref.script, cron, ...outcome }, "workers: scheduled handler failed");
  });

  async function tick(minute: number) {
    for (let after: string | undefined = ""; after !== undefined;) {
      const crons: string[] = await distinctCrons(tables, after, BATCH_SIZE);
      await enqueueDue(
        crons.filter((cron) => isDueIn(cron, minute)),
        minute,
      );
      after = crons.length < BATCH_SIZE ? undefined : crons.at(-1);
    }
  }

  async function enqueueDue(crons: string[], minute: number) {
    if (crons.length === 0) return;
    for (;;) {
      const claimed = await jobs.enqueueClaimed<ScriptsTables>(
        KIND,
        async (tx) =>
          (await claimRuns(tx, crons, minute, BATCH_SIZE)).map((schedule): Run => ({
            ...schedule,
            minute,
          })),
        { attempts: 1 },
      );
      if (claimed < BATCH_SIZE || stopAborter.signal.aborted) return;
    }
  }

  /** Starts with the current minute: this process may be the restart of one that died before it claimed the runs. */
  async function run() {
    while (!stopAborter.signal.aborted) {
      const minute = Math.floor(clock.now() / MINUTE_MS);
      const isDone = await tick(minute).then(
        () => true,
        (err: unknown) => {
          log.error({ err }, `workers: failed to check schedules, will retry: ${messageOf(err)}`);
          return false;
        },
      );
      const untilNextMinute = (minute + 1) * MINUTE_MS - clock.now();
      const waitMs = isDone ? untilNextMinute : Math.min(untilNextMinute, RETRY_MS);
      if (waitMs > 0) await clock.sleep(waitMs, stopAborter.signal);
    }
  }

  const runLoop = run().catch(() => {});
  return {
    async close() {
      stopAborter.abort();
      await runLoop;
      await worker.stop();
    },
  };
}

/** Maximum number of cached expressions. Parsing an expression takes a hundred times longer than matching it. */
const MAX_CACHED_CRONS = 10_000;

/** Caches parsed expressions. A stored expression that has become invalid never matches. */
function createCalendar(): (cron: string, minute: number) => boolean {
  const parsedCrons = new Map<string, CronExpression | undefined>();

  function read(cron: string): CronExpression | undefined {
    try {
      return parseCron(cron);
    } catch {
      return undefined;
    }
  }

  return (cron, minute) => {
    if (!parsedCrons.has(cron)) {
      if (parsedCrons.size >= MAX_CACHED_CRONS) parsedCrons.clear();
      parsedCrons.set(cron, read(cron));
    }
    return parsedCrons.get(cron)?.matchesMinute(minute) === true;
  };
}
