import { z } from "@hono/zod-openapi";
import { SECRET_SCOPES, secretsStoreErrors, type SecretScope } from "../../../workers/index.ts";
import { answer, pageAnswer, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { direction, reading, secretShape, shownSecret, STORE, writing, type SecretsStoreRouteDeps } from "./shapes.ts";

const SECRETS = `${STORE}/secrets`;
const SECRET = `${SECRETS}/{secret_id}`;

/** A bulk request that exceeds the quota of an account anyway. */
const MAX_BULK = 1000;

const copyFields = { name: z.string(), scopes: z.array(z.string()), comment: z.string().nullish() };
const newSecret = z.object({ ...copyFields, value: z.string() });
const change = z.object({
  value: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  comment: z.string().optional(),
});
/** A list, as text with commas or as repeated parameters. */
const scopesQuery = z.union([z.string(), z.array(z.string())]).optional();

function scopesOf(given: z.infer<typeof scopesQuery>): SecretScope[] {
  const scopes = [given ?? []].flat().flatMap((text) => text.split(","));
  const isScope = (text: string): text is SecretScope => (SECRET_SCOPES as readonly string[]).includes(text);
  if (!scopes.every(isScope))
    throw secretsStoreErrors.badScopes({
      name: "the filter",
      scopes: JSON.stringify(scopes).slice(0, 200),
      allowed: SECRET_SCOPES.join(", "),
    });
  return scopes;
}

const idsOf = (params: Record<string, string>): [account: string, store: string] => [
  params.account_id!,
  params.store_id!,
];

/** The secrets of a store. No operation returns a value. */
export const secretRoutes = ({ store }: SecretsStoreRouteDeps): Route[] => [
  route(
    {
      ...reading,
      id: "secrets-store-secrets-list",
      method: "get",
      path: SECRETS,
      summary: "List store secrets",
      query: z.object({
        ...pageQuery({ perPage: 20, max: 100 }),
        order: z.enum(["name", "comment", "created", "modified", "status"]).optional(),
        direction,
        search: z.string().optional(),
        scopes: scopesQuery,
      }),
      result: z.array(secretShape),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      const { order: by, direction: sorted, search } = query;
      const filter = { by, direction: sorted, search, scopes: scopesOf(query.scopes) };
      return pageAnswer(await store.secrets(...idsOf(params), page, filter), page, shownSecret);
    },
  ),
  route(
    {
      ...writing,
      id: "secrets-store-secret-create",
      method: "post",
      path: SECRETS,
      summary: "Create secrets",
      body: z.array(newSecret).max(MAX_BULK),
      maxBytes: 16 * 1024 * 1024,
      result: z.array(secretShape),
    },
    async ({ params, body }) => {
      const secrets = body.map(({ comment, ...secret }) => ({ ...secret, comment: comment ?? "" }));
      return answer((await store.createSecrets(...idsOf(params), secrets)).map(shownSecret));
    },
  ),
  route(
    {
      ...writing,
      id: "secrets-store-secret-delete-bulk",
      method: "delete",
      path: SECRETS,
      summary: "Delete secrets",
      body: z.array(z.object({ id: z.string() })).max(MAX_BULK),
      result: z.null(),
    },
    async ({ params, body }) => {
      const ids = new Set(body.map(({ id }) => id));
      await store.deleteSecrets(...idsOf(params), [...ids]);
      return answer(null);
    },
  ),
  route(
    {
      ...reading,
      id: "secrets-store-secret-get",
      method: "get",
      path: SECRET,
      summary: "Get a secret by ID",
      result: secretShape,
    },
    async ({ params }) => answer(shownSecret(await store.secret(...idsOf(params), params.secret_id!))),
  ),
  route(
    {
      ...writing,
      id: "secrets-store-secret-patch",
      method: "patch",
      path: SECRET,
      summary: "Patch a secret",
      body: change,
      result: secretShape,
    },
    async ({ params, body }) =>
      answer(shownSecret(await store.changeSecret(...idsOf(params), params.secret_id!, body))),
  ),
  route(
    {
      ...writing,
      id: "secrets-store-secret-delete",
      method: "delete",
      path: SECRET,
      summary: "Delete a secret",
      result: z.null(),
    },
    async ({ params }) => {
      await store.deleteSecrets(...idsOf(params), [params.secret_id!]);
      return answer(null);
    },
  ),
  route(
    {
      ...writing,
      id: "secrets-store-secret-duplicate",
      method: "post",
      path: `${SECRET}/duplicate`,
      summary: "Duplicate a secret",
      body: z.object(copyFields),
      result: secretShape,
    },
    async ({ params, body: { comment, ...copy } }) =>
      answer(
        shownSecret(
          await store.duplicateSecret(...idsOf(params), params.secret_id!, { ...copy, comment: comment ?? "" }),
        ),
      ),
  ),
];
