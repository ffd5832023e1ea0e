/** Text that is not what a standard asks for. `message` says what is wrong in one sentence, without naming the place. */
export class DnsSyntaxError extends Error {
  override readonly name = "DnsSyntaxError";
  /** Of a master file, from 1. */
  line: number | undefined;
}
