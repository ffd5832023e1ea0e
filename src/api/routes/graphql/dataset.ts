import type { Permission } from "../../../accounts/index.ts";
import type { Budget } from "./budget.ts";
import type { Field } from "./fields.ts";

/** One table of analytics. */
export interface Dataset {
  /** Any of these on the account or zone is enough. */
  permissions: Permission[];
  /** Rows with the selected fields. Throws QueryError for unknown arguments and fields, and if `budget` is exceeded. */
  rows(of: Place, args: Record<string, unknown>, fields: Field[], budget: Budget): Promise<Record<string, unknown>[]>;
  /** What `settings` tells of it. */
  settings?: Record<string, unknown>;
}

export interface Place {
  account: string;
  /** Of datasets of a zone. */
  zone?: string;
}

/** A dataset nobody fills: clients read it as zeros. */
export const emptyDataset = (permission: Permission): Dataset => ({ permissions: [permission], rows: async () => [] });
