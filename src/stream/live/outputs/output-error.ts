/**
 * A broadcast cannot be restreamed. The message is shown to the owner of the input: it contains no keys, and no text
 * from servers on private networks.
 */
export class OutputError extends Error {
  override readonly name: string = "OutputError";
}
