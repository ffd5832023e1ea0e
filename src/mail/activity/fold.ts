import type { TraceEvent } from "../messages/types.ts";
import { entryId, rcptKey, type Place } from "./place.ts";
import { errorOf, statusOf } from "./status.ts";
import { cleanDetail, cleanText } from "./text.ts";
import type { Delivery, Entry, EntryEvent } from "./types.ts";

/** Steps that are kept, at the beginning and at the end of the story. */
const FIRST = 20;
const LAST = 40;
const MAX_DELIVERIES = 100;

export function newEntry({ kind, message }: Place, rcpt: string, at: number): Entry {
  return {
    id: entryId(kind, message, rcpt), kind, message, account: "", zone: "", at, changedAt: at, from: "", to: cleanText(rcpt, 512), subject: null, headerId: kind === "sending" ? cleanText(message, 998) : null,
    status: kind === "sending" ? "sent" : "received", action: null, origin: kind === "sending" ? "newEmail" : "incoming", rule: null, script: null,
    spf: null, dkim: null, dmarc: null, arc: null, errorCause: null, error: null, isNdr: false, isSpam: false, spamScore: null, spamThreshold: null, size: null, ip: null,
    deliveries: [], events: [], answer: null,
  };
}

/** Lets an entry know of one step more. Steps come in order from one process, but those of another may come before. */
export function applyEvent(entry: Entry, event: TraceEvent): void {
  const at = event.at.getTime();
  entry.at = Math.min(entry.at, at);
  entry.changedAt = Math.max(entry.changedAt, at);
  learn(entry, event);
  keepEvent(entry, { at, step: event.step, detail: cleanDetail(event.step, event.detail) });
  take(entry, event, at);
  entry.status = statusOf(entry);
  const error = errorOf(entry);
  entry.errorCause = error?.cause ?? null;
  entry.error = error === undefined ? null : cleanText(error.text, 1000);
}

/** What any step may tell of the message. */
function learn(entry: Entry, { account, zone, detail, step }: TraceEvent): void {
  entry.account ||= account ?? textOf(detail["account"]) ?? "";
  entry.zone ||= zone ?? textOf(detail["zone"]) ?? "";
  learnScript(entry, textOf(detail["script"]));
  entry.subject ??= textOf(detail["subject"]) ?? null;
  if (entry.kind === "sending") {
    if (step === "sent" || step === "replied" || step === "rejected") entry.from ||= textOf(detail["from"], 512) ?? "";
    if (detail["cause"] === "reply" || step === "replied") entry.origin = "reply";
  } else if (step === "received" || step === "rejected") {
    entry.from ||= textOf(detail["from"], 512) ?? "";
    if (detail["from"] === "") entry.isNdr = true;
    entry.headerId ??= textOf(detail["messageId"] ?? detail["headerId"], 998) ?? null;
  }
  entry.size ??= numberOf(detail["size"]);
  if (step !== "delivered") entry.ip ??= textOf(detail["ip"], 64) ?? null;
}

/** A worker of an account is named `<account>/<worker>`. */
function learnScript(entry: Entry, named: string | undefined): void {
  if (named === undefined || entry.script !== null) return;
  const slash = named.indexOf("/");
  entry.script = named.slice(slash + 1);
  if (slash > 0) entry.account ||= named.slice(0, slash);
}

function take(entry: Entry, event: TraceEvent, at: number): void {
  const { step, detail } = event;
  switch (step) {
    case "authenticated": return authenticated(entry, event, at);
    case "matched": return matched(entry, detail);
    case "handled":
    case "dropped":
      if (entry.kind === "routing" && entry.action === null) entry.action = step === "dropped" ? "drop" : "worker";
      return goneWell(entry, at, detail["outcome"] === undefined || detail["outcome"] === "ok");
    case "forwarded": return void deliveryOf(entry, event, "handed over", at);
    case "replied": return void Object.assign(deliveryOf(entry, event, "handed over", at) ?? {}, { reply: true });
    case "queued": return void deliveryOf(entry, event, "queued", at);
    case "delivered":
      deliveryOf(entry, event, "delivered", at);
      return goneWell(entry, at, true);
    case "bounced":
      if (deliveryOf(entry, event, "failed", at) === undefined) answered(entry, event, at, false);
      return;
    case "deferred":
      if (deliveryOf(entry, event, "deferred", at) === undefined) answered(entry, event, at, true);
      return;
    case "rejected": return answered(entry, event, at, false);
    default:
  }
}

/** What was put off for the moment, by us or by the sender, has come to its end after all. */
function goneWell(entry: Entry, at: number, well: boolean): void {
  if (well && entry.answer?.temporary === true && at > entry.answer.at) entry.answer = null;
}

function authenticated(entry: Entry, event: TraceEvent, at: number): void {
  const { detail } = event;
  for (const method of ["spf", "dkim", "dmarc", "arc"] as const) entry[method] ??= textOf(detail[method], 20) ?? null;
  if (detail["quarantine"] === true || detail["spam"] === true) entry.isSpam = true;
  entry.spamScore ??= numberOf(detail["spamScore"]);
  entry.spamThreshold ??= numberOf(detail["spamThreshold"]);
  const { reply } = detail;
  if (detail["accept"] === false && typeof reply === "object" && reply !== null) answered(entry, { ...event, detail: { ...reply } }, at, false);
}

function matched(entry: Entry, detail: TraceEvent["detail"]): void {
  const { kind, rule } = detail;
  if (kind === "forward" || kind === "worker" || kind === "drop") entry.action = kind;
  else if (kind === "none") entry.action = "reject";
  if (typeof rule === "object" && rule !== null && "id" in rule) entry.rule = textOf(rule.id, 64) ?? null;
}

/** The answer to the sender. `code` tells temporary from final where it is given. */
function answered(entry: Entry, { detail }: TraceEvent, at: number, temporary: boolean): void {
  const code = numberOf(detail["code"]) ?? (temporary ? 451 : 550);
  if (entry.action === null && entry.kind === "routing") entry.action = "reject";
  entry.answer = { temporary: code < 500, at, code, enhanced: textOf(detail["enhanced"], 20) ?? "", text: textOf(detail["text"] ?? detail["why"] ?? detail["reason"], 1000) ?? "" };
}

const RANK: Record<Delivery["state"], number> = { "handed over": 0, queued: 1, deferred: 2, delivered: 3, failed: 3 };

/** The copy an event tells of, brought up to date. Undefined when it tells of none. */
function deliveryOf(entry: Entry, { rcpt, detail }: TraceEvent, state: Delivery["state"], at: number): Delivery | undefined {
  const messageId = textOf(detail["messageId"], 998) ?? (entry.kind === "sending" ? entry.message : undefined);
  const outbound = textOf(detail["outbound"], 64);
  if (messageId === undefined && outbound === undefined) return undefined;
  const to = textOf(Array.isArray(detail["to"]) ? detail["to"][0] : detail["to"], 512) ?? rcpt ?? entry.to;
  let delivery = entry.deliveries.find((one) => (one.messageId === messageId || (messageId === undefined && one.outbound === outbound)) && rcptKey(one.to) === rcptKey(to));
  if (delivery === undefined) {
    if (entry.deliveries.length >= MAX_DELIVERIES) entry.deliveries.splice(Math.max(0, entry.deliveries.findIndex((one) => one.state === "delivered")), 1);
    entry.deliveries.push((delivery = { messageId: messageId ?? "", to: cleanText(to, 512), state: "handed over", at }));
  }
  if (outbound !== undefined) delivery.outbound = outbound;
  if (detail["cause"] === "reply" && entry.kind === "routing") delivery.reply = true;
  if (at < delivery.at || (at === delivery.at && RANK[state] < RANK[delivery.state]) || state === "handed over") return delivery;
  const [code, enhanced, text, host] = [numberOf(detail["code"]), textOf(detail["enhanced"], 20), textOf(detail["text"], 500), textOf(detail["host"], 255)];
  Object.assign(delivery, { state, at }, code !== null && { code }, enhanced !== undefined && { enhanced }, text !== undefined && { text }, host !== undefined && { host });
  return delivery;
}

function keepEvent({ events }: Entry, event: EntryEvent): void {
  const later = events.findLastIndex(({ at }) => at <= event.at);
  events.splice(later + 1, 0, event);
  if (events.length > FIRST + LAST) events.splice(FIRST, events.length - FIRST - LAST);
}

const textOf = (value: unknown, most = 1000): string | undefined => (typeof value === "string" && value !== "" ? cleanText(value, most) : undefined);
const numberOf = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
