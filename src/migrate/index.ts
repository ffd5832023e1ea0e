export { createAliasImport } from "./aliases/import.ts";
export { readCsv } from "./aliases/csv.ts";
export { ALIAS_FORMATS, readAliases, type AliasFormat } from "./aliases/read.ts";
export { createExport } from "./folder/export.ts";
export type { ExportManifest } from "./folder/manifest.ts";
export { openExport } from "./folder/source.ts";
export { createMigration } from "./migration.ts";
export { openState } from "./state.ts";
export {
  AREAS,
  type Area,
  type MigrationPlan,
  type PlannedItem,
  type Report,
  type RunProgress,
  type MigrationEndpoint,
} from "./port.ts";
