export { createAliasImport } from "./aliases/import.ts";
export { readCsv } from "./aliases/csv.ts";
export { ALIAS_FORMATS, readAliases, type AliasFormat } from "./aliases/read.ts";
export { createMigration } from "./migration.ts";
export { openState } from "./state.ts";
export { AREAS, type Plan, type PlannedItem, type Report, type RunProgress, type Side } from "./port.ts";
