export * from "./srs.ts";
