export { kvErrors } from "./errors.ts";
export { createKvStore, type KvEntry, type KvListOptions, type KvPage, type KvPutOptions, type KvStore, type KvStoreOptions } from "./kv-store.ts";
export { kvMigrations } from "./kv-table.ts";
export { createKvService, type KvService } from "./service.ts";
