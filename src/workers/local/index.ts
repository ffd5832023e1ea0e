/** The parts from which `reelpost dev` builds a platform without stored workers. */
export { createLocalPlatform, type LocalPlatform } from "./local-platform.ts";
export type { LocalWorker } from "./local-worker.ts";
export { createFolderSite, type FolderSite } from "../assets/index.ts";
export { createLocalWorkerCalls } from "../bindings/services/runtime-calls.ts";
export { createObjectAlarms, localObjectBindings, localObjects, type ObjectNamespace } from "../objects/index.ts";
export { devEgress } from "../runtime/egress/policy.ts";
export type { RuntimeLimits } from "../runtime/watchdog.ts";
export { createLocalBucketList, createS3HttpHandler, localS3Key } from "../s3/index.ts";
export { createTailConsumers } from "../tails/index.ts";
