import { z } from "@hono/zod-openapi";
import { SECRET_SCOPES, type SecretsStore, type SecretStore, type StoredSecret } from "../../../workers/index.ts";

export interface SecretsStoreRouteDeps {
  store: SecretsStore;
}

export const SECRETS_STORE_PATH = "/accounts/{account_id}/secrets_store";
export const STORES_PATH = `${SECRETS_STORE_PATH}/stores`;
export const STORE_PATH = `${STORES_PATH}/{store_id}`;

export const SECRETS_READ_OPTIONS = { tag: "Secrets Store", permission: "Secrets Store Read" } as const;
export const SECRETS_WRITE_OPTIONS = { tag: "Secrets Store", permission: "Secrets Store Write" } as const;

const timestamp = z.iso.datetime();
export const sortDirection = z.enum(["asc", "desc"]).optional();

export const storeShape = z.object({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  created: timestamp,
  modified: timestamp,
});

export const shownStore = ({ id, account, name, createdAt, modifiedAt }: SecretStore) => ({
  id,
  account_id: account,
  name,
  created: createdAt.toISOString(),
  modified: modifiedAt.toISOString(),
});

const secretScope = z.enum(SECRET_SCOPES);

/** A secret without its value, which no operation returns. */
export const secretShape = z.object({
  id: z.string(),
  store_id: z.string(),
  name: z.string(),
  comment: z.string(),
  scopes: z.array(secretScope),
  status: z.literal("active"),
  created: timestamp,
  modified: timestamp,
});

export const shownSecret = ({ id, store, name, comment, scopes, createdAt, modifiedAt }: StoredSecret) => ({
  id,
  store_id: store,
  name,
  comment,
  scopes,
  status: "active" as const,
  created: createdAt.toISOString(),
  modified: modifiedAt.toISOString(),
});
