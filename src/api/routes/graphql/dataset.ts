import type { Permission } from "../../../accounts/index.ts";
import type { Budget } from "./budget.ts";
import type { Field } from "./fields.ts";

/** An analytics dataset. */
export interface Dataset {
  /** Any one of these permissions for the account or zone suffices. */
  permissions: Permission[];
  /**
   * Returns rows with the selected fields. Throws QueryError for unknown arguments or fields, and if `budget` is
   * exceeded.
   */
  rows(
    scope: DatasetScope,
    args: Record<string, unknown>,
    fields: Field[],
    budget: Budget,
  ): Promise<Record<string, unknown>[]>;
  /** The dataset's entry in `settings`. */
  settings?: Record<string, unknown>;
}

export interface DatasetScope {
  account: string;
  /** For datasets of a zone. */
  zone?: string;
  /** Zones of the account that the caller may not see. */
  hiddenZones?: readonly string[];
}

/** Returns an empty dataset, which clients read as zeros. */
export const emptyDataset = (permission: Permission): Dataset => ({ permissions: [permission], rows: async () => [] });
