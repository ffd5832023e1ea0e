export * from "./asked.ts";
export * from "./bounce.ts";
export * from "./feedback.ts";
export * from "./params.ts";
export * from "./report.ts";
export { readParts, type Part } from "./mime-parts.ts";
export { decodeXtext, encodeXtext } from "./xtext.ts";
