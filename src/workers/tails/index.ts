export { tailErrors } from "./errors.ts";
export { createTails } from "./tails.ts";
export { tailMigrations } from "./tails-table.ts";
export type { ReaderConnection, Tail, TailReader, Tails } from "./port.ts";
