import type { EnvironmentFields } from "./schema.ts";

/** A storage binding without an id in the configuration. */
export interface UnnamedResource {
  binding: string;
  /** For a database, its `database_name`: the name of the database to find or create. */
  name: string | undefined;
}

/**
 * Lists the storage bindings without an id: a deploy finds or creates their resources; in development, the resources
 * have derived ids.
 */
export const unnamedResources = (fields: EnvironmentFields): UnnamedResource[] => [
  ...(fields.kv_namespaces ?? [])
    .filter(({ id }) => id === undefined)
    .map(({ binding }) => ({ binding, name: undefined })),
  ...(fields.r2_buckets ?? [])
    .filter(({ bucket_name: name }) => name === undefined)
    .map(({ binding }) => ({ binding, name: undefined })),
  ...(fields.d1_databases ?? [])
    .filter(({ database_id: id }) => id === undefined)
    .map(({ binding, database_name: name }) => ({ binding, name })),
  ...(fields.queues?.producers ?? [])
    .filter(({ queue }) => queue === undefined)
    .map(({ binding }) => ({ binding, name: undefined })),
];
