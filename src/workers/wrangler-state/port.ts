/** A configured resource: its ids in wrangler's local state, and its id in the storage of `reelpost dev`. */
interface ConfiguredResource {
  /** Ids in order of preference. */
  from: string[];
  to: string;
}

export interface WranglerStateImportRequest {
  /** Absolute path of wrangler's state directory, or of its subdirectory v3. */
  state: string;
  kv: ConfiguredResource[];
  r2: ConfiguredResource[];
  d1: ConfiguredResource[];
  /** True to replace keys, objects and databases that already exist; otherwise, they are kept. */
  overwrite: boolean;
  /** True to count what would be copied, and write nothing. */
  dryRun: boolean;
}

/** The result for one namespace, bucket or database. */
export interface CopiedResource {
  /** The id in wrangler's state, or the file name of a database that is not in the configuration. */
  from: string;
  /** The id in the storage. Null if the resource was not copied because it is not in the configuration. */
  to: string | null;
  /** Number of copied keys, objects or tables. With `dryRun`, the number that would be copied. */
  copied: number;
  /** Number of keys, objects or tables that were not copied because they already exist. */
  kept: number;
  /** The first failures that occurred. */
  problems: { name: string; reason: string }[];
}

export interface WranglerStateImportResult {
  kv: CopiedResource[];
  r2: CopiedResource[];
  d1: CopiedResource[];
}
