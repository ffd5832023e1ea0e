import { z } from "@hono/zod-openapi";
import type {
  NeededRecord,
  SendingDnsStatus,
  SendingDomain,
  SendingPreview,
  SendingUsage,
  SendingZone,
  SendResult,
} from "../../../mail/index.ts";

const time = z.iso.datetime();
const id = z.string().max(32);
export const iso = (ms: number) => new Date(ms).toISOString();

export const domainSchema = z.object({
  tag: id,
  name: z.string(),
  enabled: z.boolean(),
  created: time,
  modified: time,
  dkim_selector: z.string(),
  return_path_domain: z.string(),
  preview_enabled: z.boolean(),
  drop_suppressed_recipients: z.boolean(),
});

export const showDomain = (domain: SendingDomain): z.input<typeof domainSchema> => ({
  tag: domain.id,
  name: domain.name,
  enabled: domain.enabled,
  created: iso(domain.createdAt),
  modified: iso(domain.modifiedAt),
  dkim_selector: domain.dkimSelector,
  return_path_domain: domain.returnPathDomain,
  preview_enabled: domain.previewEnabled,
  drop_suppressed_recipients: domain.dropSuppressed,
});

/** wrangler's list command first requests this list of zones to query. */
export const sendingZoneSchema = z.object({
  id,
  tag: id,
  name: z.string(),
  enabled: z.boolean(),
  created: time,
  modified: time,
});
export const showSendingZone = (zone: SendingZone): z.input<typeof sendingZoneSchema> => ({
  id: zone.id,
  tag: zone.id,
  name: zone.name,
  enabled: zone.enabled,
  created: iso(zone.createdAt),
  modified: iso(zone.modifiedAt),
});

export const sendingRecordSchema = z.object({
  type: z.enum(["MX", "TXT"]),
  name: z.string(),
  content: z.string(),
  priority: z.number().int().optional(),
  ttl: z.number().int(),
});
export const showSendingRecord = (record: NeededRecord): z.input<typeof sendingRecordSchema> => record;

const problems = z.array(
  z.object({
    code: z.enum([
      "mx.missing",
      "mx.foreign",
      "spf.missing",
      "spf.foreign",
      "spf.multiple",
      "dkim.missing",
      "dkim.conflict",
      "dmarc.missing",
      "dmarc.multiple",
      "domainkey.delegated",
    ]),
    missing: sendingRecordSchema.optional(),
    existing: sendingRecordSchema.optional(),
    multiple: z.array(sendingRecordSchema).optional(),
  }),
);
export const previewSchema = z.object({ errors: problems, records: z.array(sendingRecordSchema) });
export const statusSchema = previewSchema.extend({
  status: z.enum(["ready", "unconfigured", "unlocked", "misconfigured"]),
});
export const showPreview = ({ problems: errors, records }: SendingPreview): z.input<typeof previewSchema> => ({
  errors,
  records,
});
export const showStatus = ({ status, ...preview }: SendingDnsStatus): z.input<typeof statusSchema> => ({
  status,
  ...showPreview(preview),
});

export const limitsSchema = z.object({
  quota: z.object({ unit: z.enum(["day", "hour"]), value: z.number().int() }).nullable(),
  usage: z.object({ sent: z.number().int(), over_quota: z.boolean(), resets_at: time.nullable() }).nullable(),
});
export const showLimits = ({ quota, usage }: SendingUsage): z.input<typeof limitsSchema> => ({
  quota,
  usage: usage && { sent: usage.sent, over_quota: usage.overQuota, resets_at: iso(usage.resetsAt) },
});

/** Validates only JSON types; the domain validates the message. */
const address = z.union([z.string(), z.object({ address: z.string(), name: z.string().nullish() })]);
const addresses = z.union([address, z.array(address)]).nullish();
const attachment = z.object({
  content: z.string(),
  filename: z.string(),
  type: z.string(),
  disposition: z.enum(["attachment", "inline"]).nullish(),
  content_id: z.string().nullish(),
});

export const sendBody = z.object({
  from: address,
  subject: z.string(),
  to: addresses,
  cc: addresses,
  bcc: addresses,
  reply_to: address.nullish(),
  text: z.string().nullish(),
  html: z.string().nullish(),
  headers: z.record(z.string(), z.string()).nullish(),
  attachments: z.array(attachment).nullish(),
});
export const sendRawBody = z.object({ from: z.string(), recipients: z.array(z.string()), mime_message: z.string() });

export const sentSchema = z.object({
  message_id: z.string(),
  delivered: z.array(z.string()),
  queued: z.array(z.string()),
  permanent_bounces: z.array(z.string()),
  suppressed_recipients: z.array(z.string()),
});
export const showSent = (sent: SendResult): z.input<typeof sentSchema> => ({
  message_id: sent.messageId,
  delivered: sent.delivered,
  queued: sent.queued,
  permanent_bounces: sent.permanentBounces,
  suppressed_recipients: sent.suppressed,
});
