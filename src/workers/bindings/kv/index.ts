export { kvErrors } from "./errors.ts";
export { type KvEntry, type KvStore } from "./kv-store.ts";
export { kvMigrations } from "./kv-table.ts";
export { createKvService, type KvService } from "./service.ts";
export { type KvBulk } from "./bulk.ts";
export { expiryOf, keyBytes } from "./checks.ts";
export { kvLimits } from "./limits.ts";
export { type KvNamespace, type KvNamespaces } from "./namespaces.ts";
