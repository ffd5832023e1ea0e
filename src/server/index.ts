export { startDev } from "./dev.ts";
export type { DevLimits, DevOptions, DevServer } from "./dev-options.ts";
export { runDev, type RunDevOptions } from "./run-dev.ts";
