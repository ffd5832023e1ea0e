export * from "./asked.ts";
export * from "./bounce.ts";
export * from "./feedback.ts";
export * from "./params.ts";
export * from "./report.ts";
export { readParts } from "./mime-parts.ts";
