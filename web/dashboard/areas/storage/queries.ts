import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type Namespace = ResultOf<"GET", "/accounts/{account_id}/storage/kv/namespaces/{namespace_id}">;
export type KvKey = ResultOf<"GET", "/accounts/{account_id}/storage/kv/namespaces/{namespace_id}/keys">[number];
export type Bucket = ResultOf<"GET", "/accounts/{account_id}/r2/buckets/{bucket_name}">;
export type R2Object = ResultOf<"GET", "/accounts/{account_id}/r2/buckets/{bucket_name}/objects">[number];
export type Database = ResultOf<"GET", "/accounts/{account_id}/d1/database">[number];

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const storageKeys = {
  namespaces: (account: string) => ["storage", "kv", account] as const,
  namespace: (account: string, id: string) => ["storage", "kv", account, id] as const,
  keys: (account: string, id: string) => ["storage", "kv", account, id, "keys"] as const,
  buckets: (account: string) => ["storage", "r2", account] as const,
  objects: (account: string, bucket: string) => ["storage", "r2", account, bucket] as const,
  databases: (account: string) => ["storage", "d1", account] as const,
  database: (account: string, id: string) => ["storage", "d1", account, id] as const,
};

export const namespaceQuery = (account: string, id: string) =>
  queryOptions({
    queryKey: [...storageKeys.namespace(account, id), "details"],
    queryFn: () =>
      api.get("/accounts/{account_id}/storage/kv/namespaces/{namespace_id}", {
        path: { account_id: account, namespace_id: id },
      }),
  });

export const databaseQuery = (account: string, id: string) =>
  queryOptions({
    queryKey: [...storageKeys.database(account, id), "details"],
    queryFn: () =>
      api.get("/accounts/{account_id}/d1/database/{database_id}", { path: { account_id: account, database_id: id } }),
  });
