import { z } from "@hono/zod-openapi";
import type { UserError } from "../../../kernel/index.ts";
import {
  SUPPRESSION_REASONS,
  suppressionErrors,
  type BulkItemResult,
  type Suppression,
  type SuppressionRequest,
  type Suppressions,
} from "../../../mail/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { iso } from "./sending-schemas.ts";

const tag = "Email Sending suppressions";
const SUPPRESSIONS_PATH = "/accounts/{account_id}/email/sending/suppressions";
const SUPPRESSION_PATH = `${SUPPRESSIONS_PATH}/{suppression_id}`;
const [READ, WRITE] = ["Email Sending Read", "Email Sending Write"] as const;
/** A thousand notes of a thousand characters in the longest possible JSON encoding. */
const MAX_BULK_BYTES = 8 * 1024 * 1024;
const MAX_PAGE_SIZE = 1000;

/** For these errors the published result is an object instead of null. */
const translate = (error: UserError): UserError => {
  error.details["result"] = {};
  return error;
};

const time = z.iso.datetime();
const scopeSchema = z.union([
  z.object({ type: z.literal("account") }),
  z.object({ type: z.literal("sending_domain"), value: z.string() }),
]);
const suppressionSchema = z.object({
  id: z.uuid(),
  email: z.string(),
  reason: z.enum(SUPPRESSION_REASONS),
  created_at: time,
  expires_at: time.nullable(),
  note: z.string().nullable(),
  read_only: z.boolean(),
  scope: scopeSchema,
});
const madeSchema = z.object({ id: z.uuid(), scope: scopeSchema });
const bulkSchema = z.object({
  total: z.number(),
  processed: z.number(),
  invalid: z.number(),
  errors: z.number(),
  skipped: z.number(),
  deduplicated: z.number(),
  items: z.array(
    z.object({
      index: z.number(),
      status: z.enum(["processed", "invalid", "error", "skipped"]),
      id: z.uuid().optional(),
      email: z.string().optional(),
      error: z.string().optional(),
      scope: scopeSchema.optional(),
    }),
  ),
});

const instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const requestBody = z.object({
  email: z.string(),
  expires_at: instant.nullish(),
  note: z.string().nullish(),
  scope: scopeSchema.nullish(),
});
const changeBody = z.object({
  expires_at: instant.nullish(),
  note: z.string().nullish(),
  scope: z.unknown().optional(),
});

const requestOf = ({ email, expires_at, note, scope }: z.output<typeof requestBody>): SuppressionRequest => ({
  email,
  expiresAt: expires_at ?? null,
  note: note ?? undefined,
  scope: scope ?? undefined,
});

const show = (one: Suppression): z.input<typeof suppressionSchema> => ({
  id: one.id,
  email: one.email,
  reason: one.reason,
  created_at: iso(one.createdAt),
  expires_at: one.expiresAt === null ? null : iso(one.expiresAt),
  note: one.note,
  read_only: one.readOnly,
  scope: one.scope,
});
const showMade = ({ id, scope }: Suppression): z.input<typeof madeSchema> => ({ id, scope });
const showItem = (item: BulkItemResult): z.input<typeof bulkSchema>["items"][number] => item;

/** Addresses to which an account does not send mail. */
export function sendingSuppressionsRoutes({ suppressions }: { suppressions: Suppressions }): Route[] {
  const idsOf = ({ account_id, suppression_id }: Record<string, string>): [account: string, id: string] => [
    account_id!,
    suppression_id!,
  ];

  return [
    route(
      {
        id: "get_publicListSendingSuppressions",
        method: "get",
        path: SUPPRESSIONS_PATH,
        tag,
        summary: "List suppressions, newest first",
        permission: READ,
        translate,
        result: z.array(suppressionSchema),
        query: z.object({
          email: z.string().max(320).optional(),
          search: z.string().min(1).max(320).optional(),
          reason: z.enum(SUPPRESSION_REASONS).optional(),
          scope_type: z.enum(["account", "sending_domain"]).optional(),
          scope_value: z.string().max(255).optional(),
          cursor: z.string().max(2048).optional(),
          per_page: z.coerce.number().int().min(1).default(100),
        }),
      },
      async ({ params, query: { cursor, per_page, scope_type: scopeType, scope_value: scopeValue, ...query } }) => {
        const { items, perPage, next } = await suppressions.list(
          params.account_id!,
          { ...query, scopeType, scopeValue },
          { cursor: cursor === "" ? undefined : cursor, perPage: Math.min(per_page, MAX_PAGE_SIZE) },
        );
        // The documentation specifies next_cursor, but the SDK reads cursor.
        return respond(items.map(show), {
          info: { count: items.length, per_page: perPage, next_cursor: next, ...(next !== null && { cursor: next }) },
        });
      },
    ),
    route(
      {
        id: "post_publicCreateSendingSuppression",
        method: "post",
        path: SUPPRESSIONS_PATH,
        tag,
        summary: "Suppress an address",
        permission: WRITE,
        translate,
        body: requestBody,
        result: madeSchema,
      },
      async ({ params, body }) => respond(showMade(await suppressions.create(params.account_id!, requestOf(body)))),
    ),
    route(
      {
        id: "post_publicBulkCreateSendingSuppressions",
        method: "post",
        path: `${SUPPRESSIONS_PATH}/bulk`,
        tag,
        summary: "Suppress up to 1000 addresses",
        permission: WRITE,
        translate,
        maxBytes: MAX_BULK_BYTES,
        body: z.object({ items: z.array(z.unknown()) }),
        result: bulkSchema,
      },
      async ({ params, body }) => {
        const requests = body.items.map((item) => {
          const parsedItem = requestBody.safeParse(item);
          return parsedItem.success
            ? requestOf(parsedItem.data)
            : { invalid: parsedItem.error.issues.map(({ path, message }) => [...path, message].join(": ")).join("; ") };
        });
        const { items, ...counts } = await suppressions.bulk(params.account_id!, requests);
        return respond({ ...counts, items: items.map(showItem) });
      },
    ),
    route(
      {
        id: "get_publicGetSendingSuppression",
        method: "get",
        path: SUPPRESSION_PATH,
        tag,
        summary: "Get a suppression",
        permission: READ,
        translate,
        result: suppressionSchema,
      },
      async ({ params }) => respond(show(await suppressions.get(...idsOf(params)))),
    ),
    route(
      {
        id: "patch_publicUpdateSendingSuppression",
        method: "patch",
        path: SUPPRESSION_PATH,
        tag,
        summary: "Update the expiry or note of a suppression; omitted fields keep their values",
        permission: WRITE,
        translate,
        body: changeBody,
        result: suppressionSchema,
      },
      async ({ params, body: { expires_at: expiresAt, note, ...rest } }) => {
        if ("scope" in rest) throw suppressionErrors.scopeImmutable();
        if (expiresAt === undefined && note === undefined) throw suppressionErrors.nothingToChange();
        return respond(
          show(await suppressions.update(...idsOf(params), { expiresAt, note: note === null ? "" : note })),
        );
      },
    ),
    route(
      {
        id: "delete_publicDeleteSendingSuppression",
        method: "delete",
        path: SUPPRESSION_PATH,
        tag,
        summary: "Delete a suppression",
        permission: WRITE,
        translate,
        result: madeSchema,
      },
      async ({ params }) => respond(showMade(await suppressions.delete(...idsOf(params)))),
    ),
  ];
}
