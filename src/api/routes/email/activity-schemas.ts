import { z } from "@hono/zod-openapi";
import {
  ENTRY_ACTIONS,
  ENTRY_STATUSES,
  explainAuthentication,
  relatedEntries,
  sessionOf,
  type Entry,
} from "../../../mail/index.ts";

const time = z.iso.datetime();
const iso = (ms: number) => new Date(ms).toISOString();
const text = z.string().nullable();

export const entrySchema = z.object({
  id: z.string(),
  kind: z.enum(["routing", "sending"]),
  session_id: z.string(),
  zone_id: text,
  created: time,
  modified: time,
  from: z.string(),
  to: z.string(),
  subject: text,
  message_id: text,
  status: z.enum(ENTRY_STATUSES),
  action: z.enum(ENTRY_ACTIONS).nullable(),
  event_type: z.enum(["incoming", "reply", "newEmail"]),
  rule_id: text,
  worker: text,
  spf: text,
  dkim: text,
  dmarc: text,
  arc: text,
  error_cause: text,
  error_detail: text,
  is_ndr: z.boolean(),
  is_spam: z.boolean(),
  spam_score: z.number().nullable(),
  spam_threshold: z.number().nullable(),
  size: z.number().int().nullable(),
  ip: text,
});

export const showEntry = (entry: Entry): z.input<typeof entrySchema> => ({
  id: entry.id,
  kind: entry.kind,
  session_id: sessionOf(entry),
  zone_id: entry.zone || null,
  created: iso(entry.at),
  modified: iso(entry.changedAt),
  from: entry.from,
  to: entry.to,
  subject: entry.subject,
  message_id: entry.headerId,
  status: entry.status,
  action: entry.action,
  event_type: entry.origin,
  rule_id: entry.rule,
  worker: entry.script,
  spf: entry.spf,
  dkim: entry.dkim,
  dmarc: entry.dmarc,
  arc: entry.arc,
  error_cause: entry.errorCause,
  error_detail: entry.error,
  is_ndr: entry.isNdr,
  is_spam: entry.isSpam,
  spam_score: entry.spamScore,
  spam_threshold: entry.spamThreshold,
  size: entry.size,
  ip: entry.ip,
});

/** An entry with its events. */
export const timelineSchema = entrySchema.extend({
  deliveries: z.array(
    z.object({
      message_id: z.string(),
      to: z.string(),
      status: z.enum(["handed over", "queued", "deferred", "delivered", "failed"]),
      modified: time,
      queue_id: text,
      host: text,
      code: z.number().int().nullable(),
      enhanced_code: text,
      response: text,
      reply: z.boolean(),
    }),
  ),
  rule: z.object({ id: z.string(), name: text }).nullable(),
  authentication: z.array(
    z.object({
      method: z.enum(["spf", "dkim", "dmarc", "arc"]),
      result: z.string(),
      domain: text,
      selector: text,
      policy: text,
      explanation: z.string(),
    }),
  ),
  transcript: z.array(z.object({ by: z.enum(["client", "server", "connection"]), text: z.string() })),
  worker_logs: z.array(z.object({ datetime: time, level: z.string(), text: z.string() })),
  related: z.array(
    z.object({ entry_id: z.string(), relation: z.enum(["reply", "bounce"]), message_id: z.string(), to: z.string() }),
  ),
  stored: z.boolean(),
  events: z.array(z.object({ datetime: time, step: z.string(), detail: z.record(z.string(), z.unknown()) })),
});

const SPEAKERS = { C: "client", S: "server", "*": "connection" } as const;

/** The name of the rule that matched is recorded with the match: the rule may have been renamed or deleted since. */
function ruleOf({ rule, events }: Entry): z.input<typeof timelineSchema>["rule"] {
  if (rule === null) return null;
  const matched = events.find(({ step }) => step === "matched")?.detail["rule"];
  const name = typeof matched === "object" && matched !== null && "name" in matched ? matched.name : undefined;
  return { id: rule, name: typeof name === "string" && name !== "" ? name : null };
}

/**
 * Converts an entry to the format of the API. `stored`: true if the content of the message is kept and can be shown.
 */
export const showTimeline = (entry: Entry, { stored }: { stored: boolean }): z.input<typeof timelineSchema> => ({
  ...showEntry(entry),
  rule: ruleOf(entry),
  authentication: explainAuthentication(entry).map(
    ({ method, result, domain = null, selector = null, policy = null, explanation }) => ({
      method,
      result,
      domain,
      selector,
      policy,
      explanation,
    }),
  ),
  transcript: (entry.transcript ?? []).map(({ by, text: line }) => ({ by: SPEAKERS[by], text: line })),
  worker_logs: (entry.workerLogs ?? []).map(({ at, level, text: line }) => ({ datetime: iso(at), level, text: line })),
  related: relatedEntries(entry).map(({ id, relation, messageId, to }) => ({
    entry_id: id,
    relation,
    message_id: messageId,
    to,
  })),
  stored,
  deliveries: entry.deliveries.map((item) => ({
    message_id: item.messageId,
    to: item.to,
    status: item.state,
    modified: iso(item.at),
    queue_id: item.outbound ?? null,
    host: item.host ?? null,
    code: item.code ?? null,
    enhanced_code: item.enhanced ?? null,
    response: item.text ?? null,
    reply: item.reply === true,
  })),
  events: entry.events.map(({ at, step, detail }) => ({ datetime: iso(at), step, detail })),
});
