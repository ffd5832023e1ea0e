export { suppressionErrors } from "./errors.ts";
export { setUpSuppressions } from "./setup.ts";
export { suppressionsMigration } from "./suppressions-table.ts";
export { createSuppressions } from "./suppressions.ts";
export {
  SUPPRESSION_REASONS,
  type BulkItemResult,
  type Suppression,
  type SuppressionRequest,
  type Suppressions,
} from "./types.ts";
