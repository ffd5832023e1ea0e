import type { Kysely } from "kysely";

/** References to workers by name in one domain. */
export interface ScriptReferences {
  /**
   * Replaces all references to the worker `from` with `to` in the transaction that renames it. Resolves with a function
   * to call after the commit, which announces the change. Called again after a serialization conflict.
   */
  rename(tx: Kysely<unknown>, change: ScriptRename): Promise<() => void | Promise<void>>;
}

export interface ScriptRename {
  account: string;
  from: string;
  to: string;
}
