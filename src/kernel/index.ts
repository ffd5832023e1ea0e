export * from "./basics.ts";
export * from "./clock.ts";
export * from "./errors.ts";
export * from "./http-server.ts";
export * from "./ids.ts";
export * from "./lifecycle.ts";
export * from "./log.ts";
export * from "./page.ts";
