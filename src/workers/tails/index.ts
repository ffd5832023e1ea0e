export { createTailConsumers } from "./consumers/consumers.ts";
export { createConsumerLookup } from "./consumers/lookup.ts";
export { MAX_TAIL_CONSUMERS } from "./consumers/limits.ts";
export { tailErrors } from "./errors.ts";
export { createTails } from "./tails.ts";
export { tailMigrations } from "./tails-table.ts";
export type { ReaderConnection, Tail, TailReader, Tails } from "./port.ts";
