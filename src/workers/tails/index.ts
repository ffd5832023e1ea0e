export { tailErrors } from "./errors.ts";
export { TAIL_LIMITS, type TailLimits } from "./limits.ts";
export { createTails, type TailsOptions } from "./tails.ts";
export { tailMigrations } from "./tails-table.ts";
export type { ReaderConnection, Tail, TailReader, Tails } from "./port.ts";
export type { Trace, TraceEvent, TraceOutcome } from "./trace.ts";
