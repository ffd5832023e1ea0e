import { createHash } from "node:crypto";
import { Fault, type Clock, type Log } from "../../kernel/index.ts";
import { createKeyedQueue } from "../../kernel/keyed-queue.ts";
import { isNotified } from "../../protocol/dsn/index.ts";
import type { DsnEvent, Trace, Transport } from "../messages/index.ts";
import { composeReport, type ReportDeps, type ReportRequest, type RecipientOutcome } from "./report.ts";
import type { BouncesTable } from "./bounces-table.ts";

/** Whether a report was sent, or why not; `before` means that everything had already been reported. */
type ReportResult = "sent" | "null sender" | "not authenticated" | "not requested" | "before";

/** A failure that may have to be reported. */
export interface ReportableFailure extends Omit<ReportRequest, "recipients"> {
  /** "" for the null sender. */
  to: string;
  senderAuthenticated: boolean;
  /** Identifies the report about a recipient: a message id that stays the same across retries. */
  about: string;
  recipients: readonly (RecipientOutcome & { notify?: readonly DsnEvent[] })[];
  /** Report only if NOTIFY requests it. */
  onlyIfRequested?: boolean;
}

interface ReporterDeps extends ReportDeps {
  table: BouncesTable;
  /** Adds a message to the queue. */
  queue: Transport;
  trace: Trace;
  log: Log;
  clock: Clock;
  /** Maximum number of reports per hour to one sender. */
  perSender: number;
}

/** How long sent reports are remembered: longer than a message is retried and stored. */
const MARK_TTL_MS = 40 * 86_400_000;

/**
 * Sends reports, at most one per failure and sender, and limited in rate. Rejects if the report could not be queued or
 * has to wait; the caller then retries.
 */
export type Reporter = (failure: ReportableFailure) => Promise<ReportResult>;

export function createReporter(parts: ReporterDeps): Reporter {
  const { table, queue, trace, log, clock, perSender } = parts;

  const serialize = createKeyedQueue();

  /**
   * Reports about one message are sent one after the other, so that a concurrent repeat sees that the first has been
   * sent.
   */
  return (failure) => serialize(failure.about, () => report(failure));

  async function report(failure: ReportableFailure): Promise<ReportResult> {
    // RFC 5321 4.5.5: a bounce of a bounce would loop forever.
    if (failure.to === "") return "null sender";
    if (!failure.senderAuthenticated) return "not authenticated";
    const requestedRecipients = failure.recipients.filter((one) => isRequested(failure, one));
    if (requestedRecipients.length === 0) return "not requested";
    const marks = new Map(requestedRecipients.map((one) => [markOf(failure, one), one]));
    const before = await table.marked([...marks.keys()]);
    const rest = [...marks].filter(([mark]) => !before.has(mark));
    if (rest.length === 0) return "before";
    // One report per action, because the action determines the subject and the returned part.
    for (const group of Map.groupBy(rest, ([, { action }]) => action).values()) {
      // The caller retries, so a flood of failures is reported eventually without a flood of reports.
      if ((await table.count(`to ${failure.to.toLowerCase()}`, clock.now())) > perSender)
        throw new Fault(
          `${failure.to} has been sent ${perSender} delivery reports in the last hour: the next one is postponed`,
        );
      await send({ ...failure, recipients: group.map(([, one]) => one) });
      // Marked after the report, not before it: a process that dies in between then reports twice instead of never.
      await table.mark(
        group.map(([mark]) => mark),
        clock.now() + MARK_TTL_MS,
        clock.now(),
      );
    }
    return "sent";
  }

  async function send(failure: ReportableFailure): Promise<void> {
    const mail = await composeReport(failure, parts);
    const [deliveryResult] = await queue.deliver(mail);
    if (deliveryResult === undefined || deliveryResult.ok) {
      trace({
        message: failure.inbound?.id ?? failure.about,
        at: new Date(clock.now()),
        step: "replied",
        ...(failure.inbound?.rcpt !== undefined && { rcpt: failure.inbound.rcpt }),
        ...(failure.account !== undefined && { account: failure.account }),
        ...(failure.zone !== undefined && { zone: failure.zone }),
        detail: {
          report: failure.recipients[0]!.action,
          from: `MAILER-DAEMON@${parts.domain}`,
          to: failure.to,
          messageId: mail.messageId,
          recipients: failure.recipients.map(({ rcpt }) => rcpt),
        },
      });
    } else if (deliveryResult.temporary)
      throw new Fault(`a delivery report to ${failure.to} could not be queued: ${deliveryResult.reply.text}`);
    else
      log.warn(
        { to: failure.to, about: failure.about, reply: deliveryResult.reply },
        "bounces: failed to send a delivery status notification, will not retry",
      );
  }
}

function isRequested(
  { to, onlyIfRequested = false }: ReportableFailure,
  { action, notify }: ReportableFailure["recipients"][number],
): boolean {
  if (notify === undefined && onlyIfRequested) return false;
  // Delays are reported only on request: four days before expiry, a warning is often unnecessary.
  return isNotified(to, action, notify && { notify: [...notify] }, { delays: false });
}

function markOf({ about }: ReportableFailure, { rcpt, action }: RecipientOutcome): string {
  return `told ${createHash("sha256").update([about, rcpt, action].join("\0")).digest("base64url")}`;
}
