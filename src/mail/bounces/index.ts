export { bouncesMigrations } from "./bounces-table.ts";
export { createBounces } from "./bounces.ts";
export { setUpBounces } from "./setup.ts";
export type { BounceList, BounceRequest, Bounces, BouncesService, ReturnPathRequest } from "./types.ts";
