import type { EnvironmentFields } from "./schema.ts";

/** A storage binding whose id is not in the configuration. */
export interface UnnamedResource {
  binding: string;
  /** `database_name` of a database: the name of an existing one, or of the one to create. */
  name: string | undefined;
}

/** A deploy finds or creates these resources; in development they have ids of their own. */
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
