import { z } from "@hono/zod-openapi";
import type {
  RuleAction,
  DestinationAddress,
  Matcher,
  NeededRecord,
  PlannedChange,
  Rule,
  RuleRequest,
  RoutingSettings,
} from "../../../mail/index.ts";

const time = z.iso.datetime();
const id = z.string().max(32);
const iso = (ms: number) => new Date(ms).toISOString();
const status = z.enum(["ready", "unconfigured", "misconfigured", "misconfigured/locked", "unlocked"]);

export const routingSettingsSchema = z.object({
  id,
  tag: id,
  name: z.string(),
  enabled: z.boolean(),
  status,
  skip_wizard: z.boolean(),
  support_subaddress: z.boolean(),
  created: time,
  modified: time,
  subdomains: z.array(z.object({ id, tag: id, name: z.string(), enabled: z.boolean(), status })),
});

export const showSettings = (settings: RoutingSettings): z.input<typeof routingSettingsSchema> => ({
  id: settings.id,
  tag: settings.id,
  name: settings.name,
  enabled: settings.enabled,
  status: settings.status,
  skip_wizard: settings.skipWizard,
  support_subaddress: settings.supportSubaddress,
  created: iso(settings.createdAt),
  modified: iso(settings.modifiedAt),
  subdomains: settings.subdomains.map((item) => ({ ...item, tag: item.id })),
});

export const neededRecordSchema = z.object({
  type: z.enum(["MX", "TXT"]),
  name: z.string(),
  content: z.string(),
  priority: z.number().int().optional(),
  ttl: z.number().int(),
});
export const showNeededRecord = (record: NeededRecord): z.input<typeof neededRecordSchema> => record;

/** Validates only JSON types; the domain validates the rule. Some clients send null for omitted fields. */
const matcherBody = z.object({ type: z.string(), field: z.string().nullish(), value: z.string().nullish() });
const actionBody = z.object({ type: z.string(), value: z.array(z.string()).nullish() });
const parts = { matchers: z.array(matcherBody), actions: z.array(actionBody), enabled: z.boolean().nullish() };
export const ruleBody = z.object({
  ...parts,
  name: z.string().nullish(),
  priority: z.number().nullish(),
  source: z.string().nullish(),
  owner_worker_tag: z.string().nullish(),
});
export const planBody = z.object({
  owner_worker_tag: z.string(),
  rules: z.array(z.object(parts)).nullish(),
  catch_all_rules: z.array(z.object({ target: z.string(), rule: z.object(parts) })).nullish(),
});

export const rulePartsOf = ({
  matchers,
  actions,
  enabled,
}: Pick<z.output<typeof ruleBody>, "matchers" | "actions" | "enabled">): Pick<
  RuleRequest,
  "matchers" | "actions" | "enabled"
> => ({
  matchers: matchers.map(({ type, field, value }) => ({ type, field: field ?? undefined, value: value ?? undefined })),
  actions: actions.map(({ type, value }) => ({ type, value: value ?? undefined })),
  enabled: enabled ?? undefined,
});

export const ruleRequestOf = (body: z.output<typeof ruleBody>): RuleRequest => ({
  ...rulePartsOf(body),
  name: body.name ?? undefined,
  priority: body.priority ?? undefined,
  source: body.source ?? undefined,
  owner: body.owner_worker_tag ?? undefined,
});

const matchers = z.array(
  z.object({
    type: z.enum(["literal", "glob", "regex", "all"]),
    field: z.literal("to").optional(),
    value: z.string().optional(),
  }),
);
const actions = z.array(
  z.object({ type: z.enum(["forward", "worker", "drop"]), value: z.array(z.string()).optional() }),
);
const source = z.enum(["api", "wrangler"]);
export const ruleSchema = z.object({
  id,
  tag: id,
  name: z.string().optional().describe("Absent if the rule has no name."),
  enabled: z.boolean(),
  priority: z.number(),
  matchers,
  actions,
  source,
});
export const accountRuleSchema = ruleSchema.extend({ zone: z.object({ tag: id, name: z.string() }) });

const showMatchers = (matcher: Matcher) => [matcher];
const showActions = (action: RuleAction) => [action];

export const showRule = (rule: Rule): z.input<typeof ruleSchema> => ({
  id: rule.id,
  tag: rule.id,
  ...(rule.name !== "" && { name: rule.name }),
  enabled: rule.enabled,
  priority: rule.priority,
  matchers: showMatchers(rule.matcher),
  actions: showActions(rule.action),
  source: rule.source,
});

export const planSchema = z.object({
  zones: z.array(
    z.object({
      zone_id: id,
      zone_name: z.string(),
      changes: z.array(
        z.object({
          type: z.enum(["added", "updated", "deleted", "conflict"]),
          target: z.string(),
          remote: z
            .object({ id, matchers, actions, enabled: z.boolean(), source, owner_worker_name: z.string().optional() })
            .optional(),
        }),
      ),
    }),
  ),
});

export const showChange = ({
  type,
  target,
  remote,
}: PlannedChange): z.input<typeof planSchema>["zones"][number]["changes"][number] => ({
  type,
  target,
  ...(remote !== undefined && {
    remote: {
      id: remote.id,
      matchers: showMatchers(remote.matcher),
      actions: showActions(remote.action),
      enabled: remote.enabled,
      source: remote.source,
      ...(remote.ownerName !== undefined && { owner_worker_name: remote.ownerName }),
    },
  }),
});

export const addressSchema = z.object({
  id,
  tag: id,
  email: z.string(),
  verified: time.nullable(),
  created: time,
  modified: time,
});
export const showAddress = (address: DestinationAddress): z.input<typeof addressSchema> => ({
  id: address.id,
  tag: address.id,
  email: address.email,
  verified: address.verifiedAt === null ? null : iso(address.verifiedAt),
  created: iso(address.createdAt),
  modified: iso(address.modifiedAt),
});
