export { createLocalPlatform, type LocalPlatform } from "./local-platform.ts";
export type { LocalWorker } from "./local-worker.ts";
