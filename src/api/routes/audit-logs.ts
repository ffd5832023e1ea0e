import { z } from "@hono/zod-openapi";
import type { AuditEntry, AuditLog, AuditQuery, AuditScope } from "../../accounts/index.ts";
import { respondWithPage, route, type OperationResponse, type Call, type Route } from "../operation.ts";
import { pageQuery, pageRequest } from "../paging.ts";
import { direction } from "./account-schema.ts";
import { auditLogCsv } from "./audit-log-csv.ts";

const tag = "Audit Logs";

// A full-date is midnight in UTC.
const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional();
const text = z
  .string()
  .max(512)
  // PostgreSQL rejects U+0000 in text.
  .refine((value) => !value.includes("\0"), "must not contain U+0000")
  .optional();
const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((word) => word === "true");

/** The filters of the hosted service; `operation`, `resource.*` and `actor.token_id` are extensions. */
const auditQuery = z.object({
  ...pageQuery({ perPage: 100 }),
  id: text,
  "action.type": text,
  "actor.email": text,
  "actor.ip": text,
  "actor.token_id": text,
  "resource.type": text,
  "resource.id": text,
  "zone.name": text,
  operation: text,
  since: time,
  before: time,
  direction,
  hide_user_logs: flag,
  export: flag,
});

const entryResult = z.object({
  id: z.string(),
  when: z.string(),
  action: z.object({ type: z.string(), result: z.boolean() }),
  actor: z.object({
    id: z.string().optional(),
    email: z.string().optional(),
    ip: z.string().optional(),
    type: z.enum(["user", "admin"]),
  }),
  interface: z.string(),
  owner: z.object({ id: z.string() }),
  resource: z.object({ type: z.string(), id: z.string().optional() }),
  /** JSON texts. */
  oldValue: z.string().optional(),
  newValue: z.string().optional(),
  /** The same values, parsed. */
  oldValueJson: z.unknown().optional(),
  newValueJson: z.unknown().optional(),
  metadata: z.object({
    operation: z.string(),
    summary: z.string(),
    user_log: z.boolean(),
    token_id: z.string().optional(),
    user_agent: z.string().optional(),
    request_id: z.string().optional(),
    method: z.string().optional(),
    path: z.string().optional(),
    params: z.record(z.string(), z.string()).optional(),
    zone_id: z.string().optional(),
    zone_name: z.string().optional(),
  }),
});

const showEntry = (entry: AuditEntry): z.input<typeof entryResult> => ({
  id: entry.id,
  when: new Date(entry.at).toISOString(),
  action: { type: entry.action, result: true },
  actor: {
    ...(entry.actor && { id: entry.actor.id, email: entry.actor.email }),
    ...(entry.ip !== undefined && { ip: entry.ip }),
    // The operator of the server, who needs no token.
    type: entry.actor === undefined ? "admin" : "user",
  },
  interface: entry.interface,
  owner: { id: entry.owner },
  resource: { type: entry.resource.type, ...(entry.resource.id !== undefined && { id: entry.resource.id }) },
  ...(entry.before !== undefined && { oldValue: entry.before, oldValueJson: JSON.parse(entry.before) as unknown }),
  ...(entry.after !== undefined && { newValue: entry.after, newValueJson: JSON.parse(entry.after) as unknown }),
  metadata: {
    operation: entry.operation,
    summary: entry.summary,
    user_log: entry.scope === "user",
    ...(entry.credential !== undefined && { token_id: entry.credential }),
    ...(entry.userAgent !== undefined && { user_agent: entry.userAgent }),
    ...(entry.request && {
      request_id: entry.request.id,
      method: entry.request.method,
      path: entry.request.path,
      params: entry.request.params,
    }),
    ...(entry.zone && { zone_id: entry.zone.id }),
    ...(entry.zone?.name !== undefined && { zone_name: entry.zone.name }),
  },
});

const filterOf = (query: z.output<typeof auditQuery>): AuditQuery => ({
  id: query.id,
  action: query["action.type"],
  operation: query.operation,
  resourceType: query["resource.type"],
  resourceId: query["resource.id"],
  actorEmail: query["actor.email"],
  actorIp: query["actor.ip"],
  credential: query["actor.token_id"],
  zoneName: query["zone.name"],
  since: query.since,
  until: query.before,
  hideUserLogs: query.hide_user_logs,
  direction: query.direction,
});

export function auditLogRoutes({ audit }: { audit: Pick<AuditLog, "list"> }): Route[] {
  async function list(
    scope: AuditScope,
    query: z.output<typeof auditQuery>,
  ): Promise<OperationResponse<Entries> | Response> {
    const filter = filterOf(query);
    if (query.export) return auditLogCsv((page) => audit.list(scope, filter, page));
    const page = pageRequest(query);
    return respondWithPage(await audit.list(scope, filter, page), page, showEntry);
  }

  return [
    route(
      {
        id: "audit-logs-get-account-audit-logs",
        method: "get",
        path: "/accounts/{account_id}/audit_logs",
        tag,
        summary: "List the changes in an account; with `export=true` as CSV",
        permission: "Account Settings Read",
        query: auditQuery,
        result: z.array(entryResult),
      },
      async ({ params, query }) => list({ account: params.account_id! }, query),
    ),
    route(
      {
        id: "audit-logs-get-user-audit-logs",
        method: "get",
        path: "/user/audit_logs",
        tag,
        summary: "List the changes made by the user; with `export=true` as CSV",
        permission: "User Details Read",
        query: auditQuery,
        result: z.array(entryResult),
      },
      async ({ caller, query }) => list({ user: caller.user.id, accounts: readableAccounts(caller) }, query),
    ),
  ];
}

type Entries = z.input<typeof entryResult>[];

/**
 * Returns the accounts whose resources the caller may read: a token for the user alone does not show the values of an
 * account's resources.
 */
const readableAccounts = (caller: Call["caller"]): string[] =>
  caller.accounts.filter((account) => caller.allows("Account Settings Read", { account }));
