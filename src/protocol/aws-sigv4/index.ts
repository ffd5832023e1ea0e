export * from "./canonical-request.ts";
export * from "./chunks.ts";
export * from "./parse.ts";
export * from "./sign.ts";
