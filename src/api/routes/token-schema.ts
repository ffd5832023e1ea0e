import { z } from "@hono/zod-openapi";
import {
  permissionGroup,
  SCOPE_NAMES,
  type PermissionGroup,
  type Token,
  type TokenRequest,
} from "../../accounts/index.ts";
import { secretField } from "../secret-fields.ts";

const time = z.iso.datetime({ offset: true });
const status = z.enum(["active", "disabled", "expired"]);
const cidrs = z.array(z.string());
const requestIp = z.object({ in: cidrs.nullish(), not_in: cidrs.nullish() }).nullish();
const resources = z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())]));

export const tokenBody = z.object({
  name: z
    .string()
    .trim()
    .min(1)
    .max(120)
    // oxlint-disable-next-line no-control-regex
    .regex(/^[^\u0000-\u001f\u007f]*$/, "must have no control characters"),
  policies: z.array(
    z.object({
      id: z.string().nullish(),
      effect: z.enum(["allow", "deny"]),
      permission_groups: z.array(z.object({ id: z.string() })),
      resources,
    }),
  ),
  // Some clients use the name with a dot.
  condition: z.object({ request_ip: requestIp, "request.ip": requestIp }).nullish(),
  not_before: time.nullish(),
  expires_on: time.nullish(),
  status: status.nullish(),
});

export const tokenRequestOf = ({
  name,
  policies,
  condition,
  not_before: notBefore,
  expires_on: expiresOn,
  status: requestedStatus,
}: z.output<typeof tokenBody>): TokenRequest => {
  const ip = condition?.request_ip ?? condition?.["request.ip"];
  return {
    name,
    policies: policies.map(({ id, effect, permission_groups: groups, resources: policyResources }) => ({
      id: id ?? undefined,
      effect,
      groups: groups.map((group) => group.id),
      resources: policyResources,
    })),
    status: requestedStatus ?? undefined,
    ip: ip == null ? null : { ...(ip.in != null && { in: ip.in }), ...(ip.not_in != null && { notIn: ip.not_in }) },
    notBefore: notBefore == null ? null : Date.parse(notBefore),
    expiresAt: expiresOn == null ? null : Date.parse(expiresOn),
  };
};

export const tokenResult = z.object({
  id: z.string(),
  name: z.string(),
  status,
  issued_on: time,
  modified_on: time,
  last_used_on: time.optional(),
  not_before: time.optional(),
  expires_on: time.optional(),
  condition: z.object({ request_ip: z.object({ in: cidrs.optional(), not_in: cidrs.optional() }) }).optional(),
  policies: z.array(
    z.object({
      id: z.string(),
      effect: z.enum(["allow", "deny"]),
      resources,
      permission_groups: z.array(z.object({ id: z.string(), name: z.string().optional() })),
    }),
  ),
});
export const createdResult = tokenResult.extend({ value: secretField(z.string()) });
export const verifyResult = tokenResult.pick({ id: true, status: true, not_before: true, expires_on: true });

export const groupResult = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  category: z.string(),
});

export const showToken = (token: Token): z.input<typeof tokenResult> => ({
  ...showVerified(token),
  name: token.name,
  issued_on: toTimestamp(token.issuedAt),
  modified_on: toTimestamp(token.modifiedAt),
  ...(token.lastUsedAt !== null && { last_used_on: toTimestamp(token.lastUsedAt) }),
  ...(token.ip !== null && {
    condition: {
      request_ip: { ...(token.ip.in && { in: token.ip.in }), ...(token.ip.notIn && { not_in: token.ip.notIn }) },
    },
  }),
  policies: token.policies.map(({ id, effect, groups, resources: policyResources }) => ({
    id,
    effect,
    resources: policyResources,
    permission_groups: groups.map(showGroupName),
  })),
});

export const showVerified = ({ id, status: shown, notBefore, expiresAt }: Token): z.input<typeof verifyResult> => ({
  id,
  status: shown,
  ...(notBefore !== null && { not_before: toTimestamp(notBefore) }),
  ...(expiresAt !== null && { expires_on: toTimestamp(expiresAt) }),
});

export const showGroup = ({ id, name, scope, category }: PermissionGroup): z.input<typeof groupResult> => ({
  id,
  name,
  scopes: [SCOPE_NAMES[scope]],
  category,
});

const showGroupName = (id: string) => {
  const name = permissionGroup(id)?.name;
  return { id, ...(name !== undefined && { name }) };
};

/**
 * Whole seconds are formatted without a fraction, so that tools that compare sent and returned times see no difference.
 */
const toTimestamp = (ms: number) => new Date(ms).toISOString().replace(".000Z", "Z");
