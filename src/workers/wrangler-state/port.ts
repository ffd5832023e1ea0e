/** A resource of the configuration: its ids in the local state of wrangler, and its id in the storage of `reelpost dev`. */
interface ConfiguredResource {
  /** In order of preference. */
  from: string[];
  to: string;
}

export interface WranglerStateRequest {
  /** Absolute path of wrangler's state, or of its subfolder v3. */
  state: string;
  kv: ConfiguredResource[];
  r2: ConfiguredResource[];
  d1: ConfiguredResource[];
  /** Replaces what the storage contains already. Otherwise it is kept. */
  overwrite: boolean;
  /** Reads only. */
  dryRun: boolean;
}

/** The result for one namespace, bucket or database. */
export interface CopiedResource {
  /** The id in the state of wrangler; of a database that is not in the configuration, the name of its file. */
  from: string;
  /** Null: not copied, because the configuration does not show where to. */
  to: string | null;
  /** Number of keys, objects or tables. With `dryRun`, the number to copy. */
  copied: number;
  /** Number of keys, objects or tables that the storage contains already. */
  kept: number;
  /** The first failures. */
  problems: { name: string; reason: string }[];
}

export interface WranglerStateResult {
  kv: CopiedResource[];
  r2: CopiedResource[];
  d1: CopiedResource[];
}
