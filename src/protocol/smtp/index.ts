export * from "./data-reader.ts";
export * from "./received.ts";
