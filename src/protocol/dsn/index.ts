export * from "./asked.ts";
export * from "./bounce.ts";
export * from "./feedback.ts";
export * from "./params.ts";
export * from "./report.ts";
export { decodeXtext, encodeXtext } from "./xtext.ts";
