/** A broadcast cannot be sent on. The message is shown to the owner of the input: no keys, and nothing of what an address behind ours answered. */
export class OutputError extends Error {
  override readonly name: string = "OutputError";
}
