import type { Clock, Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { DsnEvent } from "../messages/index.ts";
import {
  type RecipientRow,
  replyOfRow,
  toQueuedMessage,
  type FailedRecipient,
  type DeliveryFailure,
} from "../outbound/index.ts";
import type { FailureHandler } from "./failures.ts";
import { createDelayNotificationsTable, type DelayCursor } from "./delay-notifications-table.ts";
import type { Reporter } from "./reporter.ts";

interface DelayNotificationsDeps {
  db: Db;
  failures: FailureHandler;
  report: Reporter;
  clock: Pick<Clock, "now">;
  log: Log;
  delayMs: number;
}

const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/**
 * How far back deliveries are looked up after startup. A process that was down for longer skips their notifications.
 */
const LOOKBACK_MS = 24 * 3_600_000;

/**
 * Notifies senders of delayed mail, and of mail relayed to a server that sends no notifications, if NOTIFY requests it
 * (RFC 3461 5.2.2, 5.2.7). Across all processes, each event is reported once. A call does a bounded amount of work, and
 * the next call continues where it stopped.
 */
export function createDelayNotifications({
  db,
  failures,
  report,
  clock,
  log,
  delayMs,
}: DelayNotificationsDeps): () => Promise<void> {
  const table = createDelayNotificationsTable(db);
  const start = { at: 0, id: "" };
  let late: DelayCursor = start;
  let arrived: DelayCursor = { at: clock.now() - LOOKBACK_MS, id: "" };

  async function notify(rows: RecipientRow[], action: "delayed" | "relayed"): Promise<void> {
    const messages = await table.messages([...new Set(rows.map((row) => row.message_id))]);
    for (const [id, messageRows] of Map.groupBy(rows, (row) => row.message_id)) {
      const row = messages.get(id);
      if (row === undefined) continue;
      const failure: DeliveryFailure = {
        message: toQueuedMessage(row),
        recipients: messageRows.map(recipientOf),
        dsn: row.dsn === null ? {} : (JSON.parse(row.dsn) as DeliveryFailure["dsn"]),
        open: async () => undefined,
      };
      try {
        const reportable = await failures.reportableFailure(failure, action);
        await report({
          ...reportable,
          recipients: reportable.recipients.map((recipient, i) =>
            action === "delayed" ? { ...recipient, retryUntil: new Date(messageRows[i]!.expires_at) } : recipient,
          ),
        });
      } catch (err) {
        // The next pass over the table finds it again.
        log.warn({ err, outbound: id }, "bounces: failed to send a delayed-delivery notification, will retry");
      }
    }
  }

  async function processPages(
    from: DelayCursor,
    action: "delayed" | "relayed",
    page: (after: DelayCursor) => Promise<RecipientRow[]>,
    atOf: (row: RecipientRow) => number,
  ): Promise<{ place: DelayCursor; ended: boolean }> {
    let place = from;
    for (let n = 0; n < MAX_PAGES; n++) {
      const rows = await page(place);
      await notify(rows, action);
      const last = rows.at(-1);
      if (last !== undefined) place = { at: atOf(last), id: last.id };
      if (rows.length < PAGE_SIZE) return { place, ended: true };
    }
    return { place, ended: false };
  }

  return async () => {
    const now = clock.now();
    const latePages = await processPages(
      late,
      "delayed",
      (after) => table.late(after, now - delayMs, PAGE_SIZE),
      (row) => row.created_at,
    );
    late = latePages.ended ? start : latePages.place;
    const arrivedPages = await processPages(
      arrived,
      "relayed",
      (after) => table.arrived(after, now, PAGE_SIZE),
      (row) => row.finished_at!,
    );
    // A transaction of another process may still commit a delivery with an earlier time.
    arrived = arrivedPages.ended
      ? { at: Math.min(arrivedPages.place.at, now - OVERLAP_MS), id: "" }
      : arrivedPages.place;
  };
}

const OVERLAP_MS = 10 * 60_000;

const recipientOf = (row: RecipientRow): FailedRecipient => ({
  rcpt: row.rcpt,
  state: "failed",
  reply: replyOfRow(row) ?? { code: 0, enhanced: "", text: "" },
  host: row.host ?? undefined,
  attempts: row.attempts,
  ...(row.notify !== null && { notify: row.notify.split(",") as DsnEvent[] }),
  ...(row.orcpt !== null && { orcpt: row.orcpt }),
});
