export { chunksMigrations } from "./chunks.ts";
export { createProcessing } from "./processing.ts";
