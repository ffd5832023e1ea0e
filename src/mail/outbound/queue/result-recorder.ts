import { messageOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { DsnEvent, DsnRequest, SmtpReply, Trace, TraceEvent } from "../../messages/index.ts";
import type { RecipientResult } from "../types.ts";
import type { Bodies } from "./bodies.ts";
import type { ClaimsTable } from "./claims-table.ts";
import { createBatcher } from "./gather.ts";
import type { ActiveLease } from "./leases.ts";
import type { MessageRow, RecipientRow } from "./migrations.ts";
import { replyOfRow, toQueuedMessage, traceSubject, traceDetailOf, type QueuedMessage } from "./queue.ts";
import type { QueueTable } from "./queue-table.ts";

/** Recipients of one message whose delivery failed. */
export interface DeliveryFailure {
  message: QueuedMessage;
  recipients: FailedRecipient[];
  dsn: Pick<DsnRequest, "ret" | "envid">;
  /** Reads the message while its content is still stored. */
  open(): Promise<Buffer | undefined>;
}

export interface FailedRecipient {
  rcpt: string;
  state: "failed" | "expired";
  reply: SmtpReply;
  host: string | undefined;
  attempts: number;
  notify?: DsnEvent[];
  orcpt?: string;
}

interface ResultRecorderDeps {
  table: ClaimsTable;
  queue: QueueTable;
  bodies: Bodies;
  clock: Clock;
  log: Log;
  trace: Trace;
  backoff: (attempt: number) => number;
  /** How long bodies are kept once a message is done. */
  keepMs: { failed: number; delivered: number };
  /** Called at least once for every failure; called again later if it rejects or the process dies. */
  onFailed?: (failure: DeliveryFailure) => Promise<void> | void;
}

/** Timeout for reporting a failure before another process takes over. */
export const REPORT_RETRY_MS = 30_000;
const WRITE_RETRY_MS = 1000;
const FINISH_BATCH_SIZE = 200;

export type ResultRecorder = ReturnType<typeof createResultRecorder>;

/** Stores the results of recipients and triggers the follow-up work. */
export function createResultRecorder({
  table,
  queue,
  bodies,
  clock,
  log,
  trace,
  backoff,
  keepMs,
  onFailed,
}: ResultRecorderDeps) {
  const finishing = new Set<Promise<void>>();

  function traceStep(
    message: MessageRow,
    step: TraceEvent["step"],
    row: RecipientRow,
    reply: SmtpReply,
    detail: Record<string, unknown>,
  ) {
    trace({
      ...traceSubject(message, row.rcpt),
      at: new Date(clock.now()),
      step,
      detail: { ...traceDetailOf(message, row.rcpt), ...reply, ...detail },
    });
  }

  function valuesOf(
    row: RecipientRow,
    { outcome, reply, host, nextHopNotifies }: RecipientResult,
    now: number,
    wait: (attempts: number) => number,
  ): Partial<RecipientRow> {
    const replyColumns = {
      reply_code: reply.code,
      reply_enhanced: reply.enhanced,
      reply_text: reply.text,
      host: host ?? null,
    };
    if (outcome === "delivered")
      return { ...replyColumns, state: "delivered", finished_at: now, ...(nextHopNotifies && { notify: null }) };
    if (outcome === "permanent")
      return { ...replyColumns, state: "failed", finished_at: now, tell_at: now + REPORT_RETRY_MS };
    if (now >= row.expires_at)
      return { ...replyColumns, state: "expired", finished_at: now, tell_at: now + REPORT_RETRY_MS };
    // The last attempt happens at the end of the lifetime.
    return { ...replyColumns, state: "deferred", next_try: Math.min(now + wait(row.attempts), row.expires_at) };
  }

  /**
   * Retries the write during a database outage while the lease is valid: if the result were lost, the delivery would be
   * repeated.
   */
  async function retryWrite(
    activeLease: ActiveLease,
    giveUp: AbortSignal,
    write: () => Promise<string[]>,
  ): Promise<string[]> {
    while (!activeLease.lost && clock.now() <= activeLease.until) {
      try {
        return await write();
      } catch (err) {
        log.warn({ err }, "outbound: failed to store a delivery result, will retry");
        if (giveUp.aborted) break;
        await clock.sleep(WRITE_RETRY_MS, giveUp).catch(() => {});
      }
    }
    return [];
  }

  async function settle(
    activeLease: ActiveLease,
    message: MessageRow,
    rows: RecipientRow[],
    results: RecipientResult[],
    giveUp: AbortSignal,
  ): Promise<void> {
    const byRcpt = new Map(results.map((result) => [result.rcpt, result]));
    const now = clock.now();
    // One retry time per number of attempts, so that these recipients are written and retried together.
    const delays = new Map(
      [...new Set(rows.map(({ attempts }) => attempts))].map((attempts) => [attempts, backoff(attempts)]),
    );
    const rowsByValues = Map.groupBy(rows, (row) =>
      JSON.stringify(valuesOf(row, byRcpt.get(row.rcpt)!, now, (attempts) => delays.get(attempts)!)),
    );
    const failedRows: RecipientRow[] = [];
    let isDone = false;
    for (const [text, group] of rowsByValues) {
      const values = JSON.parse(text) as Partial<RecipientRow>;
      const writtenIds = new Set(
        await retryWrite(activeLease, giveUp, () =>
          table.settle(
            activeLease.token,
            group.map(({ id }) => id),
            values,
          ),
        ),
      );
      for (const row of group) {
        if (!writtenIds.has(row.id)) {
          log.warn(
            { outbound: message.id, rcpt: row.rcpt, outcome: values.state },
            "outbound: failed to store a delivery result; the recipient will be retried",
          );
          continue;
        }
        const { reply, host, tls } = byRcpt.get(row.rcpt)!;
        const sessionDetails = {
          ...(host !== undefined && { host }),
          ...(tls !== undefined && { tls }),
          attempts: row.attempts,
        };
        if (values.state === "deferred")
          traceStep(message, "deferred", row, reply, {
            ...sessionDetails,
            nextTry: new Date(values.next_try!).toISOString(),
          });
        else {
          isDone = true;
          if (values.state === "delivered") traceStep(message, "delivered", row, reply, sessionDetails);
          else failedRows.push({ ...row, ...values });
        }
      }
    }
    if (failedRows.length > 0) await bounce(message, failedRows);
    // The next message does not have to wait for this.
    if (isDone) runInBackground(finish(message.id));
  }

  async function bounce(message: MessageRow, rows: RecipientRow[]): Promise<void> {
    for (const row of rows)
      traceStep(message, "bounced", row, replyOfRow(row) ?? NEVER_TRIED, { state: row.state, attempts: row.attempts });
    await reportFailure(message, rows);
  }

  /** Passes failures to the listener that reports them to the sender. */
  async function reportFailure(message: MessageRow, rows: RecipientRow[]): Promise<void> {
    try {
      await onFailed?.(failureOf(message, rows));
      await table.markReported(rows.map(({ id }) => id));
    } catch (err) {
      log.warn(
        { err, outbound: message.id },
        `outbound: failed to report a failure to the sender, will retry: ${messageOf(err)}`,
      );
    }
  }

  function failureOf(message: MessageRow, rows: RecipientRow[]): DeliveryFailure {
    return {
      message: toQueuedMessage(message),
      recipients: rows.map((row) => ({
        rcpt: row.rcpt,
        state: row.state as FailedRecipient["state"],
        reply: replyOfRow(row) ?? NEVER_TRIED,
        host: row.host ?? undefined,
        attempts: row.attempts,
        ...(row.notify !== null && { notify: row.notify.split(",") as DsnEvent[] }),
        ...(row.orcpt !== null && { orcpt: row.orcpt }),
      })),
      dsn: message.dsn === null ? {} : (JSON.parse(message.dsn) as DeliveryFailure["dsn"]),
      open: async () =>
        (await bodies.open({ id: message.id, createdAt: message.created_at, location: message.body_in }))?.bytes(),
    };
  }

  const finishSoon = createBatcher<string>(async (messageIds) => {
    const finishedIds = await table.finish([...new Set(messageIds)], clock.now(), keepMs);
    if (finishedIds.length === 0) return;
    await queue.dropDelivered(finishedIds.map(({ id }) => id));
    await bodies.delete(
      finishedIds.filter((row) => row.body_in === "objects").map((row) => ({ id: row.id, createdAt: row.created_at })),
    );
  }, FINISH_BATCH_SIZE);

  async function finish(messageId: string): Promise<void> {
    try {
      await finishSoon(messageId);
    } catch (err) {
      // Housekeeping finds the message later.
      log.warn({ err, outbound: messageId }, "outbound: failed to mark a message as done, will retry");
    }
  }

  function runInBackground(work: Promise<void>) {
    finishing.add(work);
    void work.finally(() => finishing.delete(work));
  }

  return {
    settle,
    bounce,
    reportFailure,
    finish,
    /** Resolves when no message is being marked as done. */
    async idle(): Promise<void> {
      while (finishing.size > 0) await Promise.all(finishing);
    },
  };
}

/** RFC 3463 X.4.7: delivery time expired. */
const NEVER_TRIED: SmtpReply = {
  code: 451,
  enhanced: "4.4.7",
  text: "The next hop could not be reached before the message expired",
};
