import { z } from "@hono/zod-openapi";
import { UserError } from "../../../kernel/index.ts";
import { SUPPRESSION_REASONS, suppressionErrors, type Suppression, type Suppressions } from "../../../mail/index.ts";
import type { Zones } from "../../../zones/index.ts";
import { respond, route, type OperationResponse, type Route } from "../../operation.ts";
import { iso } from "./sending-schemas.ts";

interface OlderSuppressionsDeps {
  suppressions: Pick<Suppressions, "list" | "get" | "create" | "delete">;
  zones: Pick<Zones, "get">;
}

const tag = "Email suppressions (older paths)";
const time = z.iso.datetime();
const entrySchema = z.object({
  id: z.uuid(),
  email: z.string(),
  reason: z.enum(SUPPRESSION_REASONS),
  created_at: time,
  expires_at: time.nullable(),
  zones: z.array(z.string()),
});
const entryBody = z.object({
  email: z.string(),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .nullish(),
});
const listQuery = z.object({
  page: z.coerce.number().int().min(0).default(1),
  per_page: z.coerce.number().int().min(0).max(1000).default(100),
  order: z.enum(["email", "expires_at", "created_at"]).default("created_at"),
  direction: z.enum(["asc", "desc"]).default("desc"),
});

/** These operations sort the list in memory, so its length is limited; `sending/suppressions` returns longer lists. */
const MAX_LISTED = 10_000;
const PAGE_SIZE = 1000;

/** Each operation exists for both products, and for accounts and zones. */
const PATHS = (["account", "zone"] as const).flatMap((level) =>
  (["routing", "sending"] as const).map((product) => ({
    level,
    product,
    path: `/${level}s/{${level}_id}/email/${product}/suppression`,
    read: product === "routing" ? ("Email Routing Rules Read" as const) : ("Email Sending Read" as const),
    write: product === "routing" ? ("Email Routing Rules Write" as const) : ("Email Sending Write" as const),
  })),
);

/**
 * Converts errors to the published format of these paths: the string `error` for 404, otherwise the string array
 * `errors`.
 */
async function withPublishedErrors<Result>(
  work: () => Promise<OperationResponse<Result>>,
): Promise<OperationResponse<Result> | Response> {
  try {
    return await work();
  } catch (err) {
    if (!(err instanceof UserError) || err.entry.http >= 500) throw err;
    const { http: status } = err.entry;
    return Response.json(
      { success: false, ...(status === 404 ? { error: err.message } : { errors: [err.message] }) },
      { status },
    );
  }
}

/** The account or zone in the path. A zone has the account-wide entries and those of its own domains. */
interface Owner {
  account: string;
  zone?: { id: string; name: string };
}

/**
 * Routes of the deprecated paths `email/{routing,sending}/suppression`, which manage the same list as
 * `sending/suppressions`.
 */
export function olderSuppressionsRoutes({ suppressions, zones }: OlderSuppressionsDeps): Route[] {
  async function ownerOf({ account_id, zone_id }: Record<string, string>): Promise<Owner> {
    if (zone_id === undefined) return { account: account_id! };
    const { id, name, account } = await zones.get(zone_id);
    return { account, zone: { id, name } };
  }

  const appliesTo = ({ zone }: Owner, { scope }: Suppression) =>
    zone === undefined || scope.type === "account" || isSameOrSubdomain(scope.value, zone.name);

  const toEntry = ({ zone }: Owner, one: Suppression): z.input<typeof entrySchema> => ({
    id: one.id,
    email: one.email,
    reason: one.reason,
    created_at: iso(one.createdAt),
    expires_at: one.expiresAt === null ? null : iso(one.expiresAt),
    zones: zone !== undefined && one.scope.type === "sending_domain" ? [zone.id] : [],
  });

  async function getOrThrow(params: Record<string, string>): Promise<{ owner: Owner; found: Suppression }> {
    const owner = await ownerOf(params);
    const found = await suppressions.get(owner.account, params.suppression_id!);
    if (!appliesTo(owner, found)) throw suppressionErrors.noSuppression();
    return { owner, found };
  }

  async function listAll(owner: Owner): Promise<Suppression[]> {
    const found: Suppression[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = await suppressions.list(owner.account, {}, { cursor, perPage: PAGE_SIZE });
      found.push(...items.filter((one) => appliesTo(owner, one)));
      cursor = next ?? undefined;
    } while (cursor !== undefined && found.length < MAX_LISTED);
    return found;
  }

  return PATHS.flatMap(({ level, product, path, read, write }) => {
    const name = `${level}-email-${product}-suppression`;
    const entryPath = `${path}/{suppression_id}`;
    return [
      route(
        {
          id: `list-${name}`,
          method: "get",
          path,
          tag,
          summary: "List suppressions (deprecated)",
          permission: read,
          query: listQuery,
          result: z.array(entrySchema),
        },
        async ({ params, query: { page, per_page, order, direction } }) =>
          withPublishedErrors(async () => {
            const owner = await ownerOf(params);
            const sortedEntries = sortEntries(await listAll(owner), order, direction);
            const from = Math.max(0, page - 1) * per_page;
            const shownEntries = sortedEntries.slice(from, from + per_page).map((item) => toEntry(owner, item));
            return respond(shownEntries, { extraFields: { page, per_page, total: sortedEntries.length } });
          }),
      ),
      route(
        {
          id: `create-${name}`,
          method: "post",
          path,
          tag,
          summary: "Suppress an address (deprecated)",
          permission: write,
          body: entryBody,
          result: z.object({ id: z.uuid() }),
        },
        async ({ params, body: { email, expires_at: expiresAt } }) =>
          withPublishedErrors(async () => {
            const { account, zone } = await ownerOf(params);
            const { id } = await suppressions.create(account, {
              email,
              expiresAt: expiresAt ?? null,
              ...(zone && { scope: { type: "sending_domain", value: zone.name } }),
            });
            return respond({ id });
          }),
      ),
      route(
        {
          id: `get-${name}`,
          method: "get",
          path: entryPath,
          tag,
          summary: "Get a suppression (deprecated)",
          permission: read,
          result: entrySchema,
        },
        async ({ params }) =>
          withPublishedErrors(async () => {
            const { owner, found } = await getOrThrow(params);
            return respond(toEntry(owner, found));
          }),
      ),
      route(
        {
          id: `delete-${name}`,
          method: "delete",
          path: entryPath,
          tag,
          summary: "Delete a suppression (deprecated)",
          permission: write,
          result: z.null(),
        },
        async ({ params }) =>
          withPublishedErrors(async () => {
            const { owner, found } = await getOrThrow(params);
            // Account-wide entries also apply to other zones.
            if (owner.zone !== undefined && found.scope.type === "account")
              throw suppressionErrors.accountSuppression();
            await suppressions.delete(owner.account, found.id);
            return respond(null);
          }),
      ),
    ];
  });
}

const isSameOrSubdomain = (domain: string, zone: string) => domain === zone || domain.endsWith(`.${zone}`);

function sortEntries(items: Suppression[], order: "email" | "expires_at" | "created_at", direction: "asc" | "desc") {
  const sign = direction === "asc" ? 1 : -1;
  const compare = {
    email: (a: Suppression, b: Suppression) => (a.email < b.email ? -1 : Number(a.email > b.email)),
    // Entries that never expire sort as the latest.
    expires_at: (a: Suppression, b: Suppression) =>
      (a.expiresAt ?? Number.MAX_SAFE_INTEGER) - (b.expiresAt ?? Number.MAX_SAFE_INTEGER),
    created_at: (a: Suppression, b: Suppression) => a.createdAt - b.createdAt,
  }[order];
  return items.toSorted((a, b) => sign * (compare(a, b) || (a.id < b.id ? -1 : 1)));
}
