export * from "./rules.ts";
export * from "./token.ts";
