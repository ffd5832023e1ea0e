/** Text that violates a standard. `message` describes the error in one sentence, without its position. */
export class DnsSyntaxError extends Error {
  override readonly name = "DnsSyntaxError";
  /** Line in the master file, counted from 1. */
  line: number | undefined;
}
