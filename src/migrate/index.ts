export { createMigration } from "./migration.ts";
export { openState } from "./state.ts";
export { AREAS, type Plan, type PlannedItem, type Report, type RunProgress, type Side } from "./port.ts";
