export { chunksMigrations } from "./chunks-table.ts";
export { createProcessing } from "./processing.ts";
