import type { Clock, Ids } from "../../../kernel/index.ts";
import { isStoreError } from "../../../store/index.ts";
import { mailErrors } from "../../errors.ts";
import type { Outbound, SmtpReply, Trace, TraceEvent } from "../../messages/types.ts";
import { destined, senderOf } from "../addresses.ts";
import type { Result } from "../types.ts";
import type { Bodies } from "./bodies.ts";
import type { MessageRow, RecipientRow, RecipientState } from "./migrations.ts";
import type { NewMessage, QueueTable } from "./queue-table.ts";

/** One recipient of a queued message, as people see it. */
export interface QueuedRecipient {
  id: string;
  rcpt: string;
  domain: string;
  state: RecipientState;
  attempts: number;
  nextTry: Date | undefined;
  /** What the next hop said last, and who it was. */
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
  /** The envelope sender is who it seems to be: it may be told of failures. */
  vouched: boolean;
  size: number;
  /** Whether it can be sent again. */
  hasBody: boolean;
  createdAt: Date;
  finishedAt: Date | undefined;
}

export interface Queued {
  /** Undefined when no recipient could be queued. */
  id: string | undefined;
  /** Recipients that are no address: nothing was queued for them. */
  refused: Result[];
}

export interface Queue {
  /** Resolves when everything is on the disk. Throws UserError (queueFull, noRecipients, senderInvalid), StoreError. */
  enqueue(mail: Outbound, options?: { replies?: ReadonlyMap<string, Result> }): Promise<Queued>;
  get(id: string): Promise<{ message: QueuedMessage; recipients: QueuedRecipient[] } | undefined>;
  /** Newest first; `next` is the `after` of the next page, undefined at the end. `account` left out is the platform's own mail. */
  list(filter: { account?: string; state?: RecipientState; domain?: string; after?: string; limit?: number }): Promise<{ items: (QueuedRecipient & { message: QueuedMessage })[]; next: string | undefined }>;
  /** Tries at once everything that has not arrived, for as long as a new message. Throws UserError outboundNotFound, outboundGone. */
  resend(id: string): Promise<void>;
  /** Gives up what waits; what is under way goes on. Resolves with the recipients given up. Throws UserError outboundNotFound. */
  cancel(id: string): Promise<string[]>;
}

export interface QueueParts {
  table: QueueTable;
  bodies: Bodies;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  trace: Trace;
  /** What recipients of a domain share: the domain, or one name for all. */
  destinationOf: (domain: string) => string;
  /** Tells runners, here and elsewhere, that there is work. */
  announce: (destinations: string[]) => void;
  /** Notes a message whose last recipient may be done. */
  finished: (messageId: string) => Promise<void>;
  isFull: () => Promise<{ waiting: number; limit: number } | undefined>;
  insert: (rows: NewMessage) => Promise<void>;
  lifetimeMs: number;
  /** Milliseconds to wait after attempt n, from 1. */
  backoff: (attempt: number) => number;
}

const MAX_PAGE = 1000;

export function createQueue(parts: QueueParts): Queue {
  const { table, bodies, clock, ids, trace, announce } = parts;
  /** By the time they came: rows of one moment are neighbours in every index, which is what a commit has to write. */
  const nextId = (now: number) => now.toString(16).padStart(12, "0") + ids.hex().slice(12);

  async function enqueue(mail: Outbound, { replies }: { replies?: ReadonlyMap<string, Result> } = {}): Promise<Queued> {
    const { good, bad } = destined(mail);
    const from = senderOf(mail.from);
    if (good.length === 0 && bad.length === 0) throw mailErrors.noRecipients();
    if (good.length === 0) return { id: undefined, refused: bad };
    const full = await parts.isFull();
    if (full !== undefined) throw mailErrors.queueFull({ ...full });
    const now = clock.now();
    const id = nextId(now);
    const { facts, small } = await bodies.take({ id, createdAt: now }, mail.raw());
    const message: MessageRow = {
      id, account_id: mail.account ?? "", zone_id: mail.zone ?? null, cause: mail.cause, script: mail.script ?? null,
      inbound_id: mail.inbound?.id ?? null, inbound_rcpt: mail.inbound?.rcpt ?? null, header_id: mail.messageId, mail_from: from, vouched: Number(mail.vouched ?? false),
      size: facts.size, eight_bit: Number(facts.eightBit), utf8_header: Number(facts.utf8Header),
      dsn: mail.dsn === undefined ? null : JSON.stringify({ ret: mail.dsn.ret, envid: mail.dsn.envid }),
      body_in: small === undefined ? "objects" : "table", created_at: now, finished_at: null, body_until: null,
    };
    const shared = Map.groupBy(good, ({ domain }) => parts.destinationOf(domain));
    const recipients = good.map(({ rcpt, domain, notify, orcpt }): RecipientRow => {
      const before = replies?.get(rcpt);
      return {
        id: nextId(now), message_id: id, account_id: message.account_id, rcpt, domain, destination: parts.destinationOf(domain), siblings: shared.get(parts.destinationOf(domain))!.length - 1, notify: notify?.join(",") ?? null, orcpt: orcpt ?? null,
        state: before === undefined ? "queued" : "deferred", attempts: before === undefined ? 0 : 1, next_try: before === undefined ? now : now + parts.backoff(1), token: null, lease_until: null,
        reply_code: before?.reply.code ?? null, reply_enhanced: before?.reply.enhanced ?? null, reply_text: before?.reply.text ?? null, host: before?.host ?? null,
        tell_at: null, created_at: now, expires_at: now + parts.lifetimeMs, finished_at: null,
      };
    });
    try {
      await parts.insert({ message, recipients, body: small });
    } catch (err) {
      // Of a database that went away nobody knows whether it kept the rows; a body without rows is found by the housekeeping.
      if (small === undefined && !isStoreError(err, "unreachable")) await bodies.delete([{ id, createdAt: now }]).catch(() => {});
      throw err;
    }
    for (const { rcpt } of recipients) trace({ ...tracedAs(message, rcpt), at: new Date(now), step: "queued", detail: tracedDetail(message, rcpt) });
    announce([...new Set(recipients.map(({ destination }) => destination))]);
    return { id, refused: bad };
  }

  return {
    enqueue,
    async get(id) {
      const found = await table.message(id);
      return found && { message: showMessage(found.message), recipients: found.recipients.map(showRecipient) };
    },
    async list({ account = "", state, domain, after, limit = 100 }) {
      const most = Math.min(Math.max(1, limit), MAX_PAGE);
      const [createdAt, id] = after?.split("-") ?? [];
      const rows = await table.list({ account, limit: most, ...(state && { state }), ...(domain !== undefined && { domain }), ...(id !== undefined && { after: { createdAt: Number(createdAt), id } }) });
      const messages = new Map((await table.messages([...new Set(rows.map((row) => row.message_id))])).map((row) => [row.id, showMessage(row)]));
      const last = rows.at(-1);
      return { items: rows.map((row) => ({ ...showRecipient(row), message: messages.get(row.message_id)! })), next: rows.length < most || !last ? undefined : `${last.created_at}-${last.id}` };
    },
    async resend(id) {
      const now = clock.now();
      const rows = await table.resend(id, now, now + parts.lifetimeMs);
      const found = await table.message(id);
      if (rows === undefined || found === undefined) throw found === undefined ? mailErrors.outboundNotFound({ id }) : mailErrors.outboundGone({ id });
      // There was nothing left to send.
      if (rows.length === 0) await parts.finished(id);
      for (const { rcpt } of rows) trace({ ...tracedAs(found.message, rcpt), at: new Date(now), step: "queued", detail: { ...tracedDetail(found.message, rcpt), resent: true } });
      announce([...new Set(rows.map(({ destination }) => destination))]);
    },
    async cancel(id) {
      const found = await table.message(id);
      if (found === undefined) throw mailErrors.outboundNotFound({ id });
      const reply = { code: 554, enhanced: "5.0.0", text: "Given up by the operator before it was delivered" };
      const rows = await table.cancel(id, clock.now(), reply);
      for (const { rcpt } of rows) trace({ ...tracedAs(found.message, rcpt), at: new Date(clock.now()), step: "bounced", detail: { ...tracedDetail(found.message, rcpt), ...reply, canceled: true } });
      await parts.finished(id);
      return rows.map(({ rcpt }) => rcpt);
    },
  };
}

const showRecipient = (row: RecipientRow): QueuedRecipient => ({
  id: row.id, rcpt: row.rcpt, domain: row.domain, state: row.state, attempts: row.attempts, nextTry: dateOf(row.next_try), reply: replyOfRow(row), host: row.host ?? undefined, finishedAt: dateOf(row.finished_at),
});

export const showMessage = (row: MessageRow): QueuedMessage => ({
  id: row.id, account: row.account_id || undefined, zone: row.zone_id ?? undefined, cause: row.cause, from: row.mail_from, messageId: row.header_id, script: row.script ?? undefined, inbound: row.inbound_id === null ? undefined : { id: row.inbound_id, rcpt: row.inbound_rcpt ?? undefined }, vouched: row.vouched === 1,
  size: row.size, hasBody: row.body_in !== null, createdAt: new Date(row.created_at), finishedAt: dateOf(row.finished_at),
});

export const replyOfRow = ({ reply_code, reply_enhanced, reply_text }: RecipientRow): SmtpReply | undefined =>
  reply_code === null ? undefined : { code: reply_code, enhanced: reply_enhanced ?? "", text: reply_text ?? "" };

/** Every step of a message that passes through is told under the inbound message and the recipient it came for. */
export const tracedAs = (message: MessageRow, rcpt: string): Pick<TraceEvent, "message" | "account" | "zone" | "rcpt"> => ({
  message: message.inbound_id ?? message.id, rcpt: message.inbound_rcpt ?? rcpt, ...(message.account_id !== "" && { account: message.account_id }), ...(message.zone_id !== null && { zone: message.zone_id }),
});

export const tracedDetail = (message: MessageRow, to: string) => ({ outbound: message.id, messageId: message.header_id, to, cause: message.cause });

const dateOf = (at: number | null) => (at === null ? undefined : new Date(at));
