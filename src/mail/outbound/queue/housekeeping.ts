import { type Clock, type Log, utcDay } from "../../../kernel/index.ts";
import type { Sweeps } from "../../../store/index.ts";
import { type Bodies } from "./bodies.ts";
import type { ClaimsTable } from "./claims-table.ts";
import type { MessagePosition, QueueTable } from "./queue-table.ts";
import type { RecipientRow } from "./migrations.ts";
import { REPORT_RETRY_MS, type ResultRecorder } from "./result-recorder.ts";

interface HousekeepingDeps {
  table: ClaimsTable;
  queue: QueueTable;
  sweeps: Pick<Sweeps, "run">;
  bodies: Bodies;
  recorder: ResultRecorder;
  clock: Pick<Clock, "now">;
  log: Log;
  leaseMs: number;
  /** How long messages are remembered after they are done. */
  rowsMs: number;
  /** Called when leases of a dead process have expired: its recipients are due again. */
  recovered: (destinations: string[]) => void;
  /** Deletes expired pauses. */
  deleteExpiredPauses: () => Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Maximum number of statements per run of a task; the next run does the rest. */
const MAX_ROUNDS = 20;
/** After its lifetime, a recipient that was never tried gets this long for a single attempt. */
const GRACE_MS = HOUR_MS;

/** Periodic tasks. `run` runs the tasks that are due, each at its own interval, and never rejects. */
export function createHousekeeping({
  table,
  queue,
  sweeps,
  bodies,
  recorder,
  clock,
  log,
  leaseMs,
  rowsMs,
  recovered,
  deleteExpiredPauses,
}: HousekeepingDeps): { run(): Promise<void> } {
  const shared = (name: string, everyMs: number, work: () => Promise<void>) => ({
    everyMs,
    next: 0,
    run: async () => void (await sweeps.run(`outbound: ${name}`, everyMs, work)),
  });
  const tasks: { everyMs: number; next: number; run: () => Promise<void> }[] = [
    // Runs in every process, because each one then delivers to the recovered destinations.
    { everyMs: leaseMs / 2, next: 0, run: async () => recovered(await table.recover(clock.now())) },
    shared("expiry of recipients", MINUTE_MS, expire),
    shared("repetition of failure reports", REPORT_RETRY_MS / 2, retryReports),
    shared("deletion of bodies", MINUTE_MS, dropBodies),
    shared("end of messages", HOUR_MS, noteFinished),
    shared("deletion of messages", HOUR_MS, () => repeatUntilFewer(() => queue.forget(clock.now() - rowsMs))),
    shared("deletion of pauses", HOUR_MS, deleteExpiredPauses),
    shared("sweep of bodies", 24 * HOUR_MS, sweepBodies),
  ];

  async function expire() {
    const rows = await table.expire(clock.now() - GRACE_MS, clock.now());
    await forEachMessage(rows, async (message, messageRows) => {
      await recorder.bounce(message, messageRows);
      await recorder.finish(message.id);
    });
  }

  async function retryReports() {
    await forEachMessage(
      await table.unreported(clock.now(), clock.now() + 2 * REPORT_RETRY_MS),
      recorder.reportFailure,
    );
  }

  async function forEachMessage(
    rows: RecipientRow[],
    work: (message: Parameters<ResultRecorder["reportFailure"]>[0], rows: RecipientRow[]) => Promise<void>,
  ) {
    const byMessage = Map.groupBy(rows, (row) => row.message_id);
    for (const message of await queue.messages([...byMessage.keys()])) await work(message, byMessage.get(message.id)!);
  }

  async function dropBodies() {
    await repeatUntilFewer(async () => {
      const droppedMessages = await queue.dropBodies(clock.now());
      await bodies.delete(
        droppedMessages
          .filter((row) => row.body_in === "objects")
          .map((row) => ({ id: row.id, createdAt: row.created_at })),
      );
      return droppedMessages.length;
    });
  }

  let lastExamined: MessagePosition | undefined;
  async function noteFinished() {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { ids, next } = await queue.unnoted(clock.now() - 5 * MINUTE_MS, lastExamined);
      for (const id of ids) await recorder.finish(id);
      lastExamined = next;
      if (next === undefined) return;
    }
  }

  async function sweepBodies() {
    const today = utcDay(clock.now() - 24 * HOUR_MS);
    const deleted = await bodies.sweep(
      today,
      async (ids) =>
        new Set((await queue.messages(ids)).filter((row) => row.body_in === "objects").map((row) => row.id)),
    );
    if (deleted > 0) log.info({ deleted }, "outbound: orphaned message bodies deleted");
  }

  return {
    async run() {
      for (const task of tasks) {
        if (task.next > clock.now()) continue;
        task.next = clock.now() + task.everyMs;
        try {
          await task.run();
        } catch (err) {
          log.warn({ err }, "outbound: housekeeping failed, will retry");
        }
      }
    },
  };
}

/** Runs a bounded number of rounds; the rest is done next time. */
async function repeatUntilFewer(round: () => Promise<number>) {
  for (let n = 0; n < MAX_ROUNDS && (await round()) === 500; n++) continue;
}
