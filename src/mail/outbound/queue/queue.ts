import type { Clock, Ids } from "../../../kernel/index.ts";
import { isStoreError } from "../../../store/index.ts";
import { mailErrors } from "../../errors.ts";
import type { Outbound, SmtpReply, Trace, TraceEvent } from "../../messages/index.ts";
import { resolveRecipients, senderOf } from "../addresses.ts";
import type { RecipientResult } from "../types.ts";
import type { Bodies } from "./bodies.ts";
import type { MessageRow, RecipientRow, RecipientState } from "./migrations.ts";
import type { Pause, PausesTable } from "./pauses-table.ts";
import type { NewMessageRows, QueueTable } from "./queue-table.ts";

/** A recipient of a queued message, as shown to users. */
export interface QueuedRecipient {
  id: string;
  rcpt: string;
  domain: string;
  state: RecipientState;
  attempts: number;
  /** Time of the next attempt, or the end of the destination's pause if that is later. */
  nextTry: Date | undefined;
  /** Set while the recipient is queued and its destination, or the host that replied last, is paused after failures. */
  paused: { until: Date; why: string } | undefined;
  /** The last reply of a next hop, and the name of that host. */
  reply: SmtpReply | undefined;
  host: string | undefined;
  finishedAt: Date | undefined;
}

export interface QueuedMessage {
  id: string;
  account: string | undefined;
  zone: string | undefined;
  cause: Outbound["cause"];
  from: string;
  /** Message-ID, with angle brackets. */
  messageId: string;
  script: string | undefined;
  inbound: { id: string; rcpt: string | undefined } | undefined;
  /** True if the envelope sender is authenticated, so that it may receive failure reports. */
  senderAuthenticated: boolean;
  size: number;
  /** True if the message can be sent again. */
  hasBody: boolean;
  createdAt: Date;
  finishedAt: Date | undefined;
}

interface EnqueueResult {
  /** Undefined if no recipient could be queued. */
  id: string | undefined;
  /** Invalid recipients, which were not queued. */
  rejected: RecipientResult[];
}

export interface OutboundQueue {
  /** Resolves when everything is on disk. Throws UserError (queueFull, noRecipients, senderInvalid), StoreError. */
  enqueue(mail: Outbound, options?: { replies?: ReadonlyMap<string, RecipientResult> }): Promise<EnqueueResult>;
  get(id: string): Promise<{ message: QueuedMessage; recipients: QueuedRecipient[] } | undefined>;
  /** Returns the forwards and replies queued for these inbound messages. */
  ofInbound(messages: string[]): Promise<{ message: QueuedMessage; recipients: QueuedRecipient[] }[]>;
  /**
   * Resolves with recipients, newest first; `next` is the `after` of the next page, undefined at the end. Without
   * `account`, lists system mail.
   */
  list(filter: {
    account?: string;
    state?: RecipientState;
    domain?: string;
    after?: string;
    limit?: number;
  }): Promise<{ items: (QueuedRecipient & { message: QueuedMessage })[]; next: string | undefined }>;
  /**
   * Retries all undelivered recipients immediately, with the retry period of a new message, and resumes their
   * destinations. Throws UserError outboundNotFound, outboundGone.
   */
  resend(id: string): Promise<void>;
  /**
   * Cancels queued recipients; deliveries in progress continue. Resolves with the cancelled recipients. Throws
   * UserError outboundNotFound.
   */
  cancel(id: string): Promise<string[]>;
}

interface QueueDeps {
  table: QueueTable;
  bodies: Bodies;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  trace: Trace;
  /** Returns the destination shared by the recipients of a domain: the domain itself, or one name for all domains. */
  destinationOf: (domain: string) => string;
  /** Wakes the runners of this and other processes. */
  notifyRunners: (destinations: string[]) => void;
  pauses: Pick<PausesTable, "active" | "delete">;
  /** Resumes paused destinations, in this and other processes, then wakes the runners. */
  resume: (destinations: string[]) => void;
  /** Marks a message as done if its last recipient is done. */
  markFinished: (messageId: string) => Promise<void>;
  isFull: () => Promise<{ waiting: number; limit: number } | undefined>;
  insert: (rows: NewMessageRows) => Promise<void>;
  lifetimeMs: number;
  /** Milliseconds to wait after attempt n, starting with 1. */
  backoff: (attempt: number) => number;
}

const MAX_PAGE = 1000;

export function createQueue(deps: QueueDeps): OutboundQueue {
  const { table, bodies, clock, ids, trace, notifyRunners } = deps;
  /** Ordered by arrival, so that concurrent rows are neighbours in every index and a commit writes fewer pages. */
  const nextId = (now: number) => now.toString(16).padStart(12, "0") + ids.hex().slice(12);

  async function enqueue(
    mail: Outbound,
    { replies }: { replies?: ReadonlyMap<string, RecipientResult> } = {},
  ): Promise<EnqueueResult> {
    const { good, bad } = resolveRecipients(mail);
    const from = senderOf(mail.from);
    if (good.length === 0 && bad.length === 0) throw mailErrors.noRecipients();
    if (good.length === 0) return { id: undefined, rejected: bad };
    const isQueueFull = await deps.isFull();
    if (isQueueFull !== undefined) throw mailErrors.queueFull({ ...isQueueFull });
    const now = clock.now();
    const id = nextId(now);
    const { facts, small } = await bodies.store({ id, createdAt: now }, mail.raw());
    const message: MessageRow = {
      id,
      account_id: mail.account ?? "",
      zone_id: mail.zone ?? null,
      cause: mail.cause,
      script: mail.script ?? null,
      inbound_id: mail.inbound?.id ?? null,
      inbound_rcpt: mail.inbound?.rcpt ?? null,
      header_id: mail.messageId,
      mail_from: from,
      vouched: Number(mail.senderAuthenticated ?? false),
      size: facts.size,
      eight_bit: Number(facts.eightBit),
      utf8_header: Number(facts.utf8Header),
      dsn: mail.dsn === undefined ? null : JSON.stringify({ ret: mail.dsn.ret, envid: mail.dsn.envid }),
      body_in: small === undefined ? "objects" : "table",
      created_at: now,
      finished_at: null,
      body_until: null,
    };
    const groups = Map.groupBy(good, ({ domain }) => deps.destinationOf(domain));
    const recipients = good.map(({ rcpt, from: ownFrom, domain, notify, orcpt }): RecipientRow => {
      const before = replies?.get(rcpt);
      return {
        id: nextId(now),
        message_id: id,
        account_id: message.account_id,
        rcpt,
        mail_from: ownFrom ?? null,
        domain,
        destination: deps.destinationOf(domain),
        siblings: groups.get(deps.destinationOf(domain))!.length - 1,
        notify: notify?.join(",") ?? null,
        orcpt: orcpt ?? null,
        state: before === undefined ? "queued" : "deferred",
        attempts: before === undefined ? 0 : 1,
        next_try: before === undefined ? now : now + deps.backoff(1),
        token: null,
        lease_until: null,
        reply_code: before?.reply.code ?? null,
        reply_enhanced: before?.reply.enhanced ?? null,
        reply_text: before?.reply.text ?? null,
        host: before?.host ?? null,
        tell_at: null,
        created_at: now,
        expires_at: now + deps.lifetimeMs,
        finished_at: null,
      };
    });
    try {
      await deps.insert({ message, recipients, body: small });
    } catch (err) {
      // If the database became unreachable, it may have stored the rows. Housekeeping deletes bodies without rows.
      if (small === undefined && !isStoreError(err, "unreachable"))
        await bodies.delete([{ id, createdAt: now }]).catch(() => {});
      throw err;
    }
    for (const { rcpt } of recipients)
      trace({
        ...traceSubject(message, rcpt),
        at: new Date(now),
        step: "queued",
        detail: traceDetailOf(message, rcpt),
      });
    notifyRunners([...new Set(recipients.map(({ destination }) => destination))]);
    return { id, rejected: bad };
  }

  /** Pauses that affect these recipients, keyed by name. */
  async function pausesOf(rows: RecipientRow[]): Promise<Map<string, Pause>> {
    const names = new Set(
      rows
        .filter(({ next_try: next }) => next !== null)
        .flatMap(({ destination, host }) => (host === null ? [destination] : [destination, host])),
    );
    return new Map((await deps.pauses.active(clock.now(), [...names])).map((pause) => [pause.name, pause]));
  }

  return {
    enqueue,
    async get(id) {
      const found = await table.message(id);
      if (found === undefined) return undefined;
      const pauses = await pausesOf(found.recipients);
      return {
        message: toQueuedMessage(found.message),
        recipients: found.recipients.map((row) => toQueuedRecipient(row, pauses)),
      };
    },
    async ofInbound(inbound) {
      const found = await table.ofInbound(inbound);
      return found.map(({ message, recipients }) => ({
        message: toQueuedMessage(message),
        recipients: recipients.map((row) => toQueuedRecipient(row, new Map())),
      }));
    },
    async list({ account = "", state, domain, after, limit = 100 }) {
      const pageSize = Math.min(Math.max(1, limit), MAX_PAGE);
      const [createdAt, id] = after?.split("-") ?? [];
      const rows = await table.list({
        account,
        limit: pageSize,
        ...(state && { state }),
        ...(domain !== undefined && { domain }),
        ...(id !== undefined && { after: { createdAt: Number(createdAt), id } }),
      });
      const messages = new Map(
        (await table.messages([...new Set(rows.map((row) => row.message_id))])).map((row) => [
          row.id,
          toQueuedMessage(row),
        ]),
      );
      const last = rows.at(-1);
      const pauses = await pausesOf(rows);
      return {
        items: rows.map((row) => ({ ...toQueuedRecipient(row, pauses), message: messages.get(row.message_id)! })),
        next: rows.length < pageSize || !last ? undefined : `${last.created_at}-${last.id}`,
      };
    },
    async resend(id) {
      const now = clock.now();
      const rows = await table.resend(id, now, now + deps.lifetimeMs);
      const found = await table.message(id);
      if (rows === undefined || found === undefined)
        throw found === undefined ? mailErrors.outboundNotFound({ id }) : mailErrors.outboundGone({ id });
      // All recipients have a result.
      if (rows.length === 0) await deps.markFinished(id);
      for (const { rcpt } of rows)
        trace({
          ...traceSubject(found.message, rcpt),
          at: new Date(now),
          step: "queued",
          detail: { ...traceDetailOf(found.message, rcpt), resent: true },
        });
      const destinations = [...new Set(rows.map(({ destination }) => destination))];
      await deps.pauses.delete(destinations);
      deps.resume(destinations);
    },
    async cancel(id) {
      const found = await table.message(id);
      if (found === undefined) throw mailErrors.outboundNotFound({ id });
      const reply = { code: 554, enhanced: "5.0.0", text: "Canceled by the operator before delivery" };
      const rows = await table.cancel(id, clock.now(), reply);
      for (const { rcpt } of rows)
        trace({
          ...traceSubject(found.message, rcpt),
          at: new Date(clock.now()),
          step: "bounced",
          detail: { ...traceDetailOf(found.message, rcpt), ...reply, canceled: true },
        });
      await deps.markFinished(id);
      return rows.map(({ rcpt }) => rcpt);
    },
  };
}

function toQueuedRecipient(row: RecipientRow, pauses: ReadonlyMap<string, Pause>): QueuedRecipient {
  const isWaiting = row.next_try !== null;
  const destinationPause = isWaiting ? pauses.get(row.destination) : undefined;
  const pause = destinationPause ?? (isWaiting && row.host !== null ? pauses.get(row.host) : undefined);
  return {
    id: row.id,
    rcpt: row.rcpt,
    domain: row.domain,
    state: row.state,
    attempts: row.attempts,
    // A paused destination is not tried; if only a host is paused, another host may be tried earlier.
    nextTry: dateOf(row.next_try === null ? null : Math.max(row.next_try, destinationPause?.until ?? 0)),
    paused: pause && { until: new Date(pause.until), why: pause.why },
    reply: replyOfRow(row),
    host: row.host ?? undefined,
    finishedAt: dateOf(row.finished_at),
  };
}

export const toQueuedMessage = (row: MessageRow): QueuedMessage => ({
  id: row.id,
  account: row.account_id || undefined,
  zone: row.zone_id ?? undefined,
  cause: row.cause,
  from: row.mail_from,
  messageId: row.header_id,
  script: row.script ?? undefined,
  inbound: row.inbound_id === null ? undefined : { id: row.inbound_id, rcpt: row.inbound_rcpt ?? undefined },
  senderAuthenticated: row.vouched === 1,
  size: row.size,
  hasBody: row.body_in !== null,
  createdAt: new Date(row.created_at),
  finishedAt: dateOf(row.finished_at),
});

/** Returns the `rcpt` of a trace event: the inbound recipient if the message has one. */
export function rcptOf(
  { cause, inbound }: { cause: Outbound["cause"]; inbound?: { rcpt?: string | undefined } | undefined },
  to: string,
): { rcpt?: string } {
  if (inbound?.rcpt !== undefined) return { rcpt: inbound.rcpt };
  return inbound !== undefined && cause === "reply" ? {} : { rcpt: to };
}

export const replyOfRow = ({ reply_code, reply_enhanced, reply_text }: RecipientRow): SmtpReply | undefined =>
  reply_code === null ? undefined : { code: reply_code, enhanced: reply_enhanced ?? "", text: reply_text ?? "" };

/**
 * Steps of a forwarded message are traced under the inbound message and its recipient. A report about several
 * recipients is traced without a recipient.
 */
export const traceSubject = (
  message: MessageRow,
  to: string,
): Pick<TraceEvent, "message" | "account" | "zone" | "rcpt"> => ({
  message: message.inbound_id ?? message.id,
  ...rcptOf(
    {
      cause: message.cause,
      inbound: message.inbound_id === null ? undefined : { rcpt: message.inbound_rcpt ?? undefined },
    },
    to,
  ),
  ...(message.account_id !== "" && { account: message.account_id }),
  ...(message.zone_id !== null && { zone: message.zone_id }),
});

export const traceDetailOf = (message: MessageRow, to: string) => ({
  outbound: message.id,
  messageId: message.header_id,
  to,
  cause: message.cause,
});

const dateOf = (at: number | null) => (at === null ? undefined : new Date(at));
