import type { LiveInput } from "../../inputs/port.ts";

/** Who came with a stream id that is known, and the right passphrase. */
export interface Caller {
  input: LiveInput;
  passphrase: string;
  streamId: string;
  /** IP address. */
  address: string;
}
