export { createRetryBodies } from "./bodies.ts";
export { createPartialDelivery } from "./partial-delivery.ts";
export { setUpRetryQueue } from "./setup.ts";
export type { Retry, RetryQueue } from "./types.ts";
