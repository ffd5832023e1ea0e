import type { D1Database, D1DatabaseList } from "./d1/index.ts";
import type { KvNamespaces } from "./kv/index.ts";
import type { R2Bucket, R2BucketList } from "./r2/index.ts";

/**
 * Lists for `reelpost dev`, which has no accounts: every id in a configuration identifies an existing namespace, bucket
 * or database, whose content is stored under the id itself.
 */

const UNKNOWN_DATE = new Date(0);
const MAX_NAMESPACE_ID_LENGTH = 512;

export const unlistedNamespaces = (namespaces: KvNamespaces): KvNamespaces => ({
  ...namespaces,
  parseId: (text) => (text === "" || text.length > MAX_NAMESPACE_ID_LENGTH || text.includes("\0") ? undefined : text),
  get: async (_, id) => ({ id, title: id, createdAt: UNKNOWN_DATE }),
  exists: async () => true,
  isLive: () => true,
});

export const unlistedBuckets = (list: R2BucketList): R2BucketList => {
  const bucketOf = (name: string): R2Bucket => ({
    id: name,
    name,
    createdAt: UNKNOWN_DATE,
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
    createdAt: UNKNOWN_DATE,
    readReplication: "disabled",
    jurisdiction: null,
    locationHint: null,
  }),
  exists: async () => true,
  isLive: () => true,
});
