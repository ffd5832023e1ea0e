import { z } from "@hono/zod-openapi";
import { ZONE_STATUSES, ZONE_TYPES, type Zone } from "../../zones/index.ts";
import { pageQuery } from "../paging.ts";

const time = z.iso.datetime();
const zoneType = z.enum(ZONE_TYPES);

export const zoneSchema = z.object({
  id: z.string().max(32),
  name: z.string().max(253),
  status: z.enum(ZONE_STATUSES),
  paused: z.boolean(),
  type: zoneType,
  development_mode: z.number().describe("Always 0: zones have no cache."),
  name_servers: z.array(z.string()),
  vanity_name_servers: z.array(z.string()),
  original_name_servers: z.array(z.string()).nullable(),
  original_registrar: z.string().nullable(),
  original_dnshost: z.string().nullable(),
  verification_key: z.string().optional().describe("Partial zones only."),
  created_on: time,
  modified_on: time,
  activated_on: time.nullable(),
  owner: z.object({ id: z.string(), name: z.string(), type: z.string() }),
  account: z.object({ id: z.string(), name: z.string() }),
  tenant: z.object({ id: z.string(), name: z.string() }),
  tenant_unit: z.object({ id: z.string() }),
  permissions: z.array(z.string()),
  meta: z.object({
    cdn_only: z.boolean(),
    custom_certificate_quota: z.number().int(),
    dns_only: z.boolean(),
    foundation_dns: z.boolean(),
    page_rule_quota: z.number().int(),
    phishing_detected: z.boolean(),
    step: z.number().int(),
  }),
  plan: z.object({
    id: z.string(),
    name: z.string(),
    price: z.number(),
    currency: z.string(),
    frequency: z.string(),
    is_subscribed: z.boolean(),
    can_subscribe: z.boolean(),
    legacy_id: z.string(),
    legacy_discount: z.boolean(),
    externally_managed: z.boolean(),
  }),
});

/** Null is treated as omitted. */
export const createZoneBody = z.object({
  name: z.string().min(1).max(253),
  account: z
    .object({ id: z.string().max(32).nullish() })
    .nullish()
    .describe("May be omitted if the token has access to a single account."),
  type: zoneType.nullish(),
});

export const updateZoneBody = z
  .object({
    paused: z.boolean().nullish(),
    type: zoneType.nullish(),
    vanity_name_servers: z.array(z.string().max(253)).nullish(),
    plan: z.unknown().optional().describe("Accepted for compatibility with older clients, and ignored."),
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    "one of paused, type and vanity_name_servers is required",
  );

/** A filter in the form `starts_with:dev`; plain text means `equal`. */
const OPERATORS =
  /^(equal|not_equal|starts_with|ends_with|contains|starts_with_case_sensitive|ends_with_case_sensitive|contains_case_sensitive):(.*)$/s;

export const textFilter = z
  .string()
  .max(320)
  .transform((value) => {
    const [, operator = "equal", text = value] = OPERATORS.exec(value) ?? [];
    return {
      operator: operator.replace("_case_sensitive", "") as
        | "equal"
        | "not_equal"
        | "starts_with"
        | "ends_with"
        | "contains",
      text,
      caseSensitive: operator.endsWith("_case_sensitive"),
    };
  });

export const zoneListQuery = z.object({
  name: textFilter.optional(),
  status: z.enum(ZONE_STATUSES).optional(),
  type: z
    .string()
    .optional()
    .transform((list) => list?.split(",").map((item) => item.trim()))
    .pipe(z.array(zoneType).optional()),
  "account.id": z.string().optional(),
  "account.name": textFilter.optional(),
  order: z.enum(["name", "status", "account.id", "account.name", "plan.id"]).optional(),
  direction: z.enum(["asc", "desc"]).optional(),
  match: z.enum(["any", "all"]).default("all"),
  ...pageQuery({ perPage: 20, max: 50 }),
});

const iso = (ms: number) => new Date(ms).toISOString();
/** The only plan is free; clients recognize it by this id. */
const PLAN_ID = "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

export const showZone = (zone: Zone, accountName: string): z.input<typeof zoneSchema> => ({
  id: zone.id,
  name: zone.name,
  status: zone.status,
  paused: zone.paused,
  type: zone.type,
  development_mode: 0,
  name_servers: zone.nameServers,
  vanity_name_servers: zone.vanityNameServers,
  original_name_servers: null,
  original_registrar: null,
  original_dnshost: null,
  ...(zone.verificationKey !== null && { verification_key: zone.verificationKey }),
  created_on: iso(zone.createdAt),
  modified_on: iso(zone.modifiedAt),
  activated_on: zone.activatedAt === null ? null : iso(zone.activatedAt),
  owner: { id: zone.account, name: accountName, type: "organization" },
  account: { id: zone.account, name: accountName },
  tenant: { id: zone.account, name: accountName },
  tenant_unit: { id: zone.account },
  permissions: ["#zone:read", "#zone:edit", "#dns_records:read", "#dns_records:edit"],
  meta: {
    cdn_only: false,
    custom_certificate_quota: 0,
    dns_only: true,
    foundation_dns: false,
    page_rule_quota: 0,
    phishing_detected: false,
    step: 2,
  },
  plan: {
    id: PLAN_ID,
    name: "Free Website",
    price: 0,
    currency: "USD",
    frequency: "",
    is_subscribed: false,
    can_subscribe: false,
    legacy_id: "free",
    legacy_discount: false,
    externally_managed: false,
  },
});
