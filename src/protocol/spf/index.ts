export * from "./record.ts";
export * from "./terms.ts";
