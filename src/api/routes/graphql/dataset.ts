import type { Permission } from "../../../accounts/index.ts";
import type { Budget } from "./budget.ts";
import type { Field } from "./fields.ts";

/** An analytics table. */
export interface Dataset {
  /** One of these permissions on the account or zone suffices. */
  permissions: Permission[];
  /** Rows with the selected fields. Throws QueryError for unknown arguments and fields, and if `budget` is exceeded. */
  rows(of: Place, args: Record<string, unknown>, fields: Field[], budget: Budget): Promise<Record<string, unknown>[]>;
  /** Its entry in `settings`. */
  settings?: Record<string, unknown>;
}

export interface Place {
  account: string;
  /** For datasets of a zone. */
  zone?: string;
}

/** An empty dataset: clients read it as zeros. */
export const emptyDataset = (permission: Permission): Dataset => ({ permissions: [permission], rows: async () => [] });
