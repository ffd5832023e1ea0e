import type { D1Database, D1DatabaseList } from "./d1/index.ts";
import type { KvNamespaces } from "./kv/index.ts";
import type { R2Bucket, R2BucketList } from "./r2/index.ts";

/**
 * Lists of `reelpost dev`, which has no accounts: each id in a configuration is a namespace, bucket or database that
 * exists, and its content is stored under the id itself.
 */

const NEVER = new Date(0);
const MAX_NAMESPACE_ID = 512;

export const unlistedNamespaces = (namespaces: KvNamespaces): KvNamespaces => ({
  ...namespaces,
  parseId: (text) => (text === "" || text.length > MAX_NAMESPACE_ID || text.includes("\0") ? undefined : text),
  get: async (_, id) => ({ id, title: id, createdAt: NEVER }),
  exists: async () => true,
  isLive: () => true,
});

export const unlistedBuckets = (list: R2BucketList): R2BucketList => {
  const bucketOf = (name: string): R2Bucket => ({
    id: name,
    name,
    createdAt: NEVER,
    storageClass: "Standard",
    jurisdiction: "default",
  });
  return {
    ...list,
    get: async (_, name) => bucketOf(name),
    exists: async () => true,
    resolve: async (_, name) => bucketOf(name),
    confirm: async () => {},
  };
};

export const unlistedDatabases = (list: D1DatabaseList): D1DatabaseList => ({
  ...list,
  get: async (_, id): Promise<D1Database> => ({
    id,
    name: id,
    createdAt: NEVER,
    readReplication: "disabled",
    jurisdiction: null,
    locationHint: null,
  }),
  exists: async () => true,
  isLive: () => true,
});
