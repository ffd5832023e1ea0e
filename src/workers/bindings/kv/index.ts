export { kvErrors } from "./errors.ts";
export {
  createKvStore,
  type KvEntry,
  type KvListOptions,
  type KvPage,
  type KvPutOptions,
  type KvStore,
  type KvStoreOptions,
} from "./kv-store.ts";
export { kvMigrations } from "./kv-table.ts";
export { createKvService, type KvService } from "./service.ts";
export { createKvBulk, type BulkDone, type BulkPair, type KvBulk } from "./bulk.ts";
export { checkMetadata, expiryOf, keyBytes } from "./checks.ts";
export { kvLimits } from "./limits.ts";
export { createKvNamespaces, type KvNamespace, type KvNamespaces, type KvNamespacesOptions } from "./namespaces.ts";
