import type { TraceEvent } from "../messages/index.ts";
import { decodeWords } from "./encoded-words.ts";
import { entryId, rcptKey, type EntryReference } from "./entry-reference.ts";
import { checksOf } from "./checks.ts";
import { addWorkerLogs, transcriptFor } from "./session-log.ts";
import { errorOf, entryStatus } from "./status.ts";
import { cleanDetail, cleanText } from "./text.ts";
import type { EntryDelivery, Entry, EntryEvent } from "./types.ts";

/** Number of steps kept from the beginning and from the end of an entry. */
const MAX_FIRST_EVENTS = 20;
const MAX_LAST_EVENTS = 40;
const MAX_DELIVERIES = 100;

export function newEntry({ kind, message }: EntryReference, rcpt: string, at: number): Entry {
  return {
    id: entryId(kind, message, rcpt),
    kind,
    message,
    account: "",
    zone: "",
    at,
    changedAt: at,
    from: "",
    to: cleanText(rcpt, 512),
    subject: null,
    headerId: kind === "sending" ? cleanText(message, 998) : null,
    status: kind === "sending" ? "sent" : "received",
    action: null,
    origin: kind === "sending" ? "newEmail" : "incoming",
    rule: null,
    script: null,
    spf: null,
    dkim: null,
    dmarc: null,
    arc: null,
    errorCause: null,
    error: null,
    isNdr: false,
    isSpam: false,
    spamScore: null,
    spamThreshold: null,
    size: null,
    ip: null,
    deliveries: [],
    events: [],
    answer: null,
  };
}

/**
 * Applies one more step to an entry. Steps of one process arrive in order, but steps from another process may arrive
 * too early.
 */
export function applyEvent(entry: Entry, event: TraceEvent): void {
  const at = event.at.getTime();
  // Both complete an entry instead of adding a step.
  if (event.step === "session")
    return void (entry.transcript = transcriptFor(entry, event.detail["transcript"], recipientsOf(event)));
  if (event.step === "logged") return addWorkerLogs(entry, event.detail);
  entry.at = Math.min(entry.at, at);
  entry.changedAt = Math.max(entry.changedAt, at);
  copyProperties(entry, event);
  keepEvent(entry, { at, step: event.step, detail: cleanDetail(event.step, event.detail) });
  applyStep(entry, event, at);
  if (event.detail["transcript"] !== undefined)
    entry.transcript = transcriptFor(entry, event.detail["transcript"], recipientsOf(event));
  entry.status = entryStatus(entry);
  const error = errorOf(entry);
  entry.errorCause = error?.cause ?? null;
  entry.error = error === undefined ? null : cleanText(error.text, 1000);
}

/** Copies the message properties that any step may carry. */
function copyProperties(entry: Entry, { account, zone, detail, step }: TraceEvent): void {
  entry.account ||= account ?? textOf(detail["account"]) ?? "";
  entry.zone ||= zone ?? textOf(detail["zone"]) ?? "";
  learnScript(entry, textOf(detail["script"]));
  entry.subject ??= textOf(decodeWords(detail["subject"])) ?? null;
  if (entry.kind === "sending") {
    if (step === "sent" || step === "replied" || step === "rejected") entry.from ||= textOf(detail["from"], 512) ?? "";
    if (detail["cause"] === "reply" || step === "replied") entry.origin = "reply";
    if (step === "replied" && detail["report"] !== undefined) entry.isNdr = true;
  } else if (step === "received" || step === "rejected") {
    entry.from ||= textOf(detail["from"], 512) ?? "";
    if (detail["from"] === "") entry.isNdr = true;
    entry.headerId ??= textOf(detail["messageId"] ?? detail["headerId"], 998) ?? null;
  }
  entry.size ??= numberOf(detail["size"]);
  if (step !== "delivered") entry.ip ??= textOf(detail["ip"], 64) ?? null;
}

/** A worker of an account is named `<account>/<worker>`. */
function learnScript(entry: Entry, namedScript: string | undefined): void {
  if (namedScript === undefined || entry.script !== null) return;
  const slash = namedScript.indexOf("/");
  entry.script = namedScript.slice(slash + 1);
  if (slash > 0) entry.account ||= namedScript.slice(0, slash);
}

function applyStep(entry: Entry, event: TraceEvent, at: number): void {
  const { step, detail } = event;
  switch (step) {
    case "authenticated":
      return applyAuthentication(entry, event, at);
    case "matched":
      return applyMatch(entry, detail);
    case "handled":
    case "dropped":
      // The server processed a report itself; no rule was applied.
      if (entry.kind === "routing" && entry.action === null && detail["report"] !== true)
        entry.action = step === "dropped" ? "drop" : "worker";
      return clearTemporaryFailure(entry, at, detail["outcome"] === undefined || detail["outcome"] === "ok");
    case "forwarded":
      return void copiesOf(entry, event, "handed over", at);
    case "replied":
      return void copiesOf(entry, event, "handed over", at).forEach((copy) => Object.assign(copy, { reply: true }));
    case "queued":
      return void copiesOf(entry, event, "queued", at);
    case "delivered":
      copiesOf(entry, event, "delivered", at);
      return clearTemporaryFailure(entry, at, true);
    case "bounced":
      // The message was delivered, and the recipient complained.
      if (typeof detail["complaint"] === "string") return void (entry.isSpam = true);
      if (copiesOf(entry, event, "failed", at).length === 0)
        applyAnswer(entry, event, { at, temporary: false, accepted: true });
      return;
    case "deferred":
      if (copiesOf(entry, event, "deferred", at).length === 0)
        applyAnswer(entry, event, { at, temporary: true, accepted: detail["held"] === true });
      return;
    case "rejected":
      return applyAnswer(entry, event, { at, temporary: false });
    default:
  }
}

/**
 * Clears the temporary failure of a message that was deferred by the server or by the sender and has now reached a
 * final state.
 */
function clearTemporaryFailure(entry: Entry, at: number, isSuccess: boolean): void {
  if (isSuccess && entry.answer?.temporary === true && at > entry.answer.at) entry.answer = null;
}

function applyAuthentication(entry: Entry, event: TraceEvent, at: number): void {
  const { detail } = event;
  for (const method of ["spf", "dkim", "dmarc", "arc"] as const) entry[method] ??= textOf(detail[method], 20) ?? null;
  const checks = checksOf(detail["details"]);
  if (checks !== undefined) entry.checks ??= checks;
  if (detail["quarantine"] === true || detail["spam"] === true) entry.isSpam = true;
  entry.spamScore ??= numberOf(detail["spamScore"]);
  entry.spamThreshold ??= numberOf(detail["spamThreshold"]);
  const { reply } = detail;
  if (detail["accept"] !== false || typeof reply !== "object" || reply === null) return;
  const { code } = reply as { code?: unknown };
  applyAnswer(entry, { ...event, detail: { ...reply } }, { at, temporary: typeof code === "number" && code < 500 });
}

function applyMatch(entry: Entry, detail: TraceEvent["detail"]): void {
  const { kind, rule } = detail;
  if (kind === "forward" || kind === "worker" || kind === "drop") entry.action = kind;
  else if (kind === "none") entry.action = "reject";
  if (typeof rule === "object" && rule !== null && "id" in rule) entry.rule = textOf(rule.id, 64) ?? null;
}

/** Stores the reply to the sender; `accepted` means that the failure came after a positive reply. */
function applyAnswer(
  entry: Entry,
  { detail }: TraceEvent,
  { at, temporary, accepted = false }: { at: number; temporary: boolean; accepted?: boolean },
): void {
  if (entry.action === null && entry.kind === "routing") entry.action = "reject";
  entry.answer = {
    temporary,
    at,
    ...(accepted && { accepted }),
    code: numberOf(detail["code"]) ?? (temporary ? 451 : 550),
    enhanced: textOf(detail["enhanced"], 20) ?? "",
    text: textOf(detail["text"] ?? detail["why"] ?? detail["reason"], 1000) ?? "",
  };
}

const RANK: Record<EntryDelivery["state"], number> = {
  "handed over": 0,
  queued: 1,
  deferred: 2,
  delivered: 3,
  failed: 3,
};

/**
 * Orders two steps of the same millisecond. A message that is deferred while the sender waits is not queued yet, so
 * queueing comes later.
 */
const rankOf = (state: EntryDelivery["state"], outbound: string | undefined): number =>
  state === "deferred" && outbound === undefined ? 0 : RANK[state];

/** Updates and returns the copies an event refers to; empty if it refers to none. */
function copiesOf(
  entry: Entry,
  { rcpt, detail }: TraceEvent,
  state: EntryDelivery["state"],
  at: number,
): EntryDelivery[] {
  const messageId = textOf(detail["messageId"], 998) ?? (entry.kind === "sending" ? entry.message : undefined);
  const outbound = textOf(detail["outbound"], 64);
  if (messageId === undefined && outbound === undefined) return [];
  const to =
    Array.isArray(detail["to"]) && entry.kind === "routing" ? detail["to"].slice(0, MAX_DELIVERIES) : [detail["to"]];
  return to.map((recipient) => {
    const copy = copyTo(
      entry,
      messageId,
      outbound,
      (Array.isArray(recipient) ? undefined : textOf(recipient, 512)) ?? rcpt ?? entry.to,
      at,
    );
    const rank = rankOf(copy.state, copy.outbound);
    if (outbound !== undefined) copy.outbound = outbound;
    if (detail["cause"] === "reply" && entry.kind === "routing") copy.reply = true;
    if (state !== "handed over" && (at > copy.at || (at === copy.at && rankOf(state, outbound) >= rank)))
      updateCopy(copy, detail, state, at);
    return copy;
  });
}

function copyTo(
  { deliveries }: Entry,
  messageId: string | undefined,
  outbound: string | undefined,
  to: string,
  at: number,
): EntryDelivery {
  const existingCopy = deliveries.find(
    (candidate) =>
      (candidate.messageId === messageId || (messageId === undefined && candidate.outbound === outbound)) &&
      rcptKey(candidate.to) === rcptKey(to),
  );
  if (existingCopy !== undefined) return existingCopy;
  // A delivery that failed and is not queued is retried with its own copy, which replaces the previous attempt.
  const before = deliveries.findIndex(
    (candidate) =>
      candidate.state === "deferred" && candidate.outbound === undefined && rcptKey(candidate.to) === rcptKey(to),
  );
  if (before !== -1) deliveries.splice(before, 1);
  if (deliveries.length >= MAX_DELIVERIES)
    deliveries.splice(
      Math.max(
        0,
        deliveries.findIndex((candidate) => candidate.state === "delivered"),
      ),
      1,
    );
  const createdCopy: EntryDelivery = { messageId: messageId ?? "", to: cleanText(to, 512), state: "handed over", at };
  deliveries.push(createdCopy);
  return createdCopy;
}

function updateCopy(
  copy: EntryDelivery,
  detail: TraceEvent["detail"],
  state: EntryDelivery["state"],
  at: number,
): void {
  const [code, enhanced, text, host] = [
    numberOf(detail["code"]),
    textOf(detail["enhanced"], 20),
    textOf(detail["text"], 500),
    textOf(detail["host"], 255),
  ];
  Object.assign(
    copy,
    { state, at },
    code !== null && { code },
    enhanced !== undefined && { enhanced },
    text !== undefined && { text },
    host !== undefined && { host },
  );
}

function keepEvent({ events }: Entry, event: EntryEvent): void {
  const insertIndex = events.findLastIndex(({ at }) => at <= event.at);
  events.splice(insertIndex + 1, 0, event);
  if (events.length > MAX_FIRST_EVENTS + MAX_LAST_EVENTS)
    events.splice(MAX_FIRST_EVENTS, events.length - MAX_FIRST_EVENTS - MAX_LAST_EVENTS);
}

const recipientsOf = ({ detail: { to } }: TraceEvent): number => (Array.isArray(to) ? to.length : 1);

const textOf = (value: unknown, maxLength = 1000): string | undefined =>
  typeof value === "string" && value !== "" ? cleanText(value, maxLength) : undefined;
const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;
