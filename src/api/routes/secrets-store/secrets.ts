import { z } from "@hono/zod-openapi";
import { SECRET_SCOPES, secretsStoreErrors, type SecretScope } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  sortDirection,
  SECRETS_READ_OPTIONS,
  secretShape,
  shownSecret,
  STORE_PATH,
  SECRETS_WRITE_OPTIONS,
  type SecretsStoreRouteDeps,
} from "./shapes.ts";

const SECRETS_PATH = `${STORE_PATH}/secrets`;
const SECRET_PATH = `${SECRETS_PATH}/{secret_id}`;

/** Maximum number of secrets per bulk request; more would exceed the account's quota in any case. */
const MAX_BULK_SECRETS = 1000;

const copyFields = { name: z.string(), scopes: z.array(z.string()), comment: z.string().nullish() };
const newSecret = z.object({ ...copyFields, value: z.string() });
const secretChange = z.object({
  value: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  comment: z.string().optional(),
});
/** A list: comma-separated, or as repeated parameters. */
const scopesQuery = z.union([z.string(), z.array(z.string())]).optional();

function scopesOf(scopesParameter: z.infer<typeof scopesQuery>): SecretScope[] {
  const scopes = [scopesParameter ?? []].flat().flatMap((text) => text.split(","));
  const isScope = (text: string): text is SecretScope => (SECRET_SCOPES as readonly string[]).includes(text);
  if (!scopes.every(isScope))
    throw secretsStoreErrors.badScopes({
      name: "the filter",
      scopes: JSON.stringify(scopes).slice(0, 200),
      allowed: SECRET_SCOPES.join(", "),
    });
  return scopes;
}

const accountAndStore = (params: Record<string, string>): [account: string, store: string] => [
  params.account_id!,
  params.store_id!,
];

/** Operations on the secrets of a store. None of them returns a value. */
export const secretRoutes = ({ store }: SecretsStoreRouteDeps): Route[] => [
  route(
    {
      ...SECRETS_READ_OPTIONS,
      id: "secrets-store-secrets-list",
      method: "get",
      path: SECRETS_PATH,
      summary: "List store secrets",
      query: z.object({
        ...pageQuery({ perPage: 20, max: 100 }),
        order: z.enum(["name", "comment", "created", "modified", "status"]).optional(),
        direction: sortDirection,
        search: z.string().optional(),
        scopes: scopesQuery,
      }),
      result: z.array(secretShape),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      const { order: orderBy, direction: orderDirection, search } = query;
      const filter = { field: orderBy, direction: orderDirection, search, scopes: scopesOf(query.scopes) };
      return respondWithPage(await store.secrets(...accountAndStore(params), page, filter), page, shownSecret);
    },
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-secret-create",
      method: "post",
      path: SECRETS_PATH,
      summary: "Create secrets",
      body: z.array(newSecret).max(MAX_BULK_SECRETS),
      maxBytes: 16 * 1024 * 1024,
      result: z.array(secretShape),
    },
    async ({ params, body }) => {
      const secrets = body.map(({ comment, ...secret }) => ({ ...secret, comment: comment ?? "" }));
      return respond((await store.createSecrets(...accountAndStore(params), secrets)).map(shownSecret));
    },
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-secret-delete-bulk",
      method: "delete",
      path: SECRETS_PATH,
      summary: "Delete secrets",
      body: z.array(z.object({ id: z.string() })).max(MAX_BULK_SECRETS),
      result: z.null(),
    },
    async ({ params, body }) => {
      const ids = new Set(body.map(({ id }) => id));
      await store.deleteSecrets(...accountAndStore(params), [...ids]);
      return respond(null);
    },
  ),
  route(
    {
      ...SECRETS_READ_OPTIONS,
      id: "secrets-store-secret-get",
      method: "get",
      path: SECRET_PATH,
      summary: "Get a secret by ID",
      result: secretShape,
    },
    async ({ params }) => respond(shownSecret(await store.secret(...accountAndStore(params), params.secret_id!))),
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-secret-patch",
      method: "patch",
      path: SECRET_PATH,
      summary: "Patch a secret",
      body: secretChange,
      result: secretShape,
    },
    async ({ params, body }) =>
      respond(shownSecret(await store.changeSecret(...accountAndStore(params), params.secret_id!, body))),
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-secret-delete",
      method: "delete",
      path: SECRET_PATH,
      summary: "Delete a secret",
      result: z.null(),
    },
    async ({ params }) => {
      await store.deleteSecrets(...accountAndStore(params), [params.secret_id!]);
      return respond(null);
    },
  ),
  route(
    {
      ...SECRETS_WRITE_OPTIONS,
      id: "secrets-store-secret-duplicate",
      method: "post",
      path: `${SECRET_PATH}/duplicate`,
      summary: "Duplicate a secret",
      body: z.object(copyFields),
      result: secretShape,
    },
    async ({ params, body: { comment, ...copy } }) =>
      respond(
        shownSecret(
          await store.duplicateSecret(...accountAndStore(params), params.secret_id!, {
            ...copy,
            comment: comment ?? "",
          }),
        ),
      ),
  ),
];
