export * from "./document.ts";
export * from "./nearest.ts";
export * from "./problems.ts";
export * from "./schema-problems.ts";
