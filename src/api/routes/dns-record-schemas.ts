import { z } from "@hono/zod-openapi";
import { createIsoFormat } from "../../kernel/iso-time.ts";
import { RECORD_TYPES } from "../../protocol/dns/index.ts";
import { isProxiable, type DnsRecord, type RecordRequest } from "../../zones/index.ts";

const time = z.iso.datetime();
const settings = z.object({
  ipv4_only: z.boolean().optional(),
  ipv6_only: z.boolean().optional(),
  flatten_cname: z.boolean().optional(),
});

export const recordSchema = z.object({
  id: z.string().max(32),
  name: z.string().max(255),
  type: z.enum(RECORD_TYPES as [string, ...string[]]),
  content: z.string(),
  data: z.record(z.string(), z.unknown()).nullable().describe("Type-specific fields; null for types that have none."),
  priority: z.number().int().optional().describe("MX, SRV and URI records only."),
  ttl: z.number().int().describe("Time to live in seconds; 1 means automatic."),
  proxiable: z.boolean(),
  proxied: z.boolean(),
  private_routing: z.boolean().optional(),
  settings,
  comment: z.string().nullable(),
  tags: z.array(z.string()),
  meta: z.record(z.string(), z.unknown()),
  created_on: time,
  modified_on: time,
  comment_modified_on: time.optional(),
  tags_modified_on: time.optional(),
});

const iso = createIsoFormat();

/** Most records have never been modified, and formatting a time costs more than the rest of a record. */
function times({ createdAt, modifiedAt }: DnsRecord): { created_on: string; modified_on: string } {
  const created = iso(createdAt);
  return { created_on: created, modified_on: modifiedAt === createdAt ? created : iso(modifiedAt) };
}

export const showRecord = (record: DnsRecord): z.input<typeof recordSchema> => ({
  id: record.id,
  name: record.name,
  type: record.type,
  content: record.written ?? record.content,
  // Terraform would plan to remove an empty object.
  data: record.data,
  ...(record.priority !== null && { priority: record.priority }),
  ttl: record.ttl,
  proxiable: isProxiable(record.type),
  proxied: record.proxied,
  ...(record.privateRouting && { private_routing: true }),
  settings: record.settings ?? {},
  comment: record.comment,
  tags: record.tags,
  meta: {
    ...record.meta,
    ...(record.managedBy !== null && { managed_by: record.managedBy, read_only: record.locked }),
  },
  ...times(record),
  ...(record.commentAt !== null && { comment_modified_on: iso(record.commentAt) }),
  ...(record.tagsAt !== null && { tags_modified_on: iso(record.tagsAt) }),
});

/** Validates only JSON types; the domain validates the content. Some clients send null for omitted fields. */
const fields = {
  content: z.string().nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
  priority: z.number().nullish(),
  ttl: z.number().nullish(),
  proxied: z.boolean().nullish(),
  private_routing: z.boolean().nullish(),
  settings: z
    .object({
      ipv4_only: z.boolean().nullish(),
      ipv6_only: z.boolean().nullish(),
      flatten_cname: z.boolean().nullish(),
    })
    .nullish(),
  comment: z.string().nullish(),
  tags: z.array(z.string()).nullish(),
};
export const recordBody = z.object({ type: z.string(), name: z.string(), ...fields });
export const recordPatchBody = recordBody.partial();
const id = z.string().max(32);

export const batchBody = z.object({
  deletes: z.array(z.object({ id })).nullish(),
  patches: z.array(recordPatchBody.extend({ id })).nullish(),
  puts: z.array(recordBody.extend({ id })).nullish(),
  posts: z.array(recordBody).nullish(),
});

export const batchResult = z.object({
  deletes: z.array(recordSchema),
  patches: z.array(recordSchema),
  puts: z.array(recordSchema),
  posts: z.array(recordSchema),
});

export const changeOf = ({
  private_routing,
  settings: requestedSettings,
  comment,
  ...body
}: z.output<typeof recordPatchBody>): Partial<RecordRequest> => ({
  type: body.type ?? undefined,
  name: body.name ?? undefined,
  content: body.content ?? undefined,
  data: body.data ?? undefined,
  priority: body.priority ?? undefined,
  ttl: body.ttl ?? undefined,
  proxied: body.proxied ?? undefined,
  privateRouting: private_routing ?? undefined,
  settings:
    requestedSettings == null
      ? undefined
      : {
          ipv4_only: requestedSettings.ipv4_only ?? undefined,
          ipv6_only: requestedSettings.ipv6_only ?? undefined,
          flatten_cname: requestedSettings.flatten_cname ?? undefined,
        },
  // Null removes a comment.
  comment,
  tags: body.tags ?? undefined,
});

export const recordRequestOf = (body: z.output<typeof recordBody>): RecordRequest => ({
  ...changeOf(body),
  type: body.type,
  name: body.name,
});
