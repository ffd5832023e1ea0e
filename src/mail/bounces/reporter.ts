import { createHash } from "node:crypto";
import { Fault, type Clock, type Log } from "../../kernel/index.ts";
import { isNotified } from "../../protocol/dsn/index.ts";
import type { DsnEvent, Trace, Transport } from "../messages/index.ts";
import { composeReport, type ReportParts, type Story, type Told as Recipient } from "./report.ts";
import type { BouncesTable } from "./bounces-table.ts";

/** Whether a report was sent; `before` means that everything had already been reported. */
type Told = "told" | "null sender" | "not vouched for" | "not asked" | "before";

/** A failure that may have to be reported. */
export interface Tale extends Omit<Story, "recipients"> {
  /** "" for the null sender. */
  to: string;
  senderAuthenticated: boolean;
  /** Identifies the report about a recipient: a message id that stays the same across retries. */
  about: string;
  recipients: readonly (Recipient & { notify?: readonly DsnEvent[] })[];
  /** Report only if NOTIFY requests it. */
  onlyIfRequested?: boolean;
}

interface ReporterParts extends ReportParts {
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
const REMEMBER_MS = 40 * 86_400_000;

/**
 * Sends reports, at most one per failure and sender, and limited in rate. Rejects if the report could not be queued or
 * has to wait; the caller then retries.
 */
export type Reporter = (tale: Tale) => Promise<Told>;

export function createReporter(parts: ReporterParts): Reporter {
  const { table, queue, trace, log, clock, perSender } = parts;

  const turns = new Map<string, Promise<unknown>>();

  /**
   * Reports about one message are sent one after the other, so that a concurrent repeat sees that the first has been
   * sent.
   */
  return (tale) => {
    const turn = (turns.get(tale.about) ?? Promise.resolve()).then(() => tell(tale));
    const over = turn
      .then(
        () => {},
        () => {},
      )
      .then(() => void (turns.get(tale.about) === over && turns.delete(tale.about)));
    turns.set(tale.about, over);
    return turn;
  };

  async function tell(tale: Tale): Promise<Told> {
    // RFC 5321 4.5.5: a bounce of a bounce would loop forever.
    if (tale.to === "") return "null sender";
    if (!tale.senderAuthenticated) return "not vouched for";
    const asked = tale.recipients.filter((one) => isRequested(tale, one));
    if (asked.length === 0) return "not asked";
    const marks = new Map(asked.map((one) => [markOf(tale, one), one]));
    const before = await table.marked([...marks.keys()]);
    const rest = [...marks].filter(([mark]) => !before.has(mark));
    if (rest.length === 0) return "before";
    // One report per action, because the action determines the subject and the returned part.
    for (const group of Map.groupBy(rest, ([, { action }]) => action).values()) {
      // The caller retries, so a flood of failures is reported eventually without a flood of reports.
      if ((await table.count(`to ${tale.to.toLowerCase()}`, clock.now())) > perSender)
        throw new Fault(`${tale.to} has been sent ${perSender} delivery reports in this hour: the next one waits`);
      await send({ ...tale, recipients: group.map(([, one]) => one) });
      // Marked after the report, not before it: a process that dies in between then reports twice instead of never.
      await table.mark(
        group.map(([mark]) => mark),
        clock.now() + REMEMBER_MS,
        clock.now(),
      );
    }
    return "told";
  }

  async function send(tale: Tale): Promise<void> {
    const mail = await composeReport(tale, parts);
    const [settled] = await queue.deliver(mail);
    if (settled === undefined || settled.ok) {
      trace({
        message: tale.inbound?.id ?? tale.about,
        at: new Date(clock.now()),
        step: "replied",
        ...(tale.inbound?.rcpt !== undefined && { rcpt: tale.inbound.rcpt }),
        ...(tale.account !== undefined && { account: tale.account }),
        ...(tale.zone !== undefined && { zone: tale.zone }),
        detail: {
          report: tale.recipients[0]!.action,
          from: `MAILER-DAEMON@${parts.domain}`,
          to: tale.to,
          messageId: mail.messageId,
          recipients: tale.recipients.map(({ rcpt }) => rcpt),
        },
      });
    } else if (settled.temporary)
      throw new Fault(`a delivery report to ${tale.to} could not be queued: ${settled.reply.text}`);
    else
      log.warn(
        { to: tale.to, about: tale.about, reply: settled.reply },
        "bounces: cannot send a delivery report to this address",
      );
  }
}

function isRequested({ to, onlyIfRequested = false }: Tale, { action, notify }: Tale["recipients"][number]): boolean {
  if (notify === undefined && onlyIfRequested) return false;
  // Delays are reported only on request: four days before expiry, a warning is often unnecessary.
  return isNotified(to, action, notify && { notify: [...notify] }, { delays: false });
}

function markOf({ about }: Tale, { rcpt, action }: Recipient): string {
  return `told ${createHash("sha256").update([about, rcpt, action].join("\0")).digest("base64url")}`;
}
