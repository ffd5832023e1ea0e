export * from "./bounce.ts";
export type * from "./bounce-types.ts";
export * from "./feedback.ts";
export * from "./notify.ts";
export * from "./params.ts";
export * from "./report.ts";
export { readParts } from "./mime-parts.ts";
