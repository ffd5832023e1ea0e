import type { LiveInput } from "../../inputs/port.ts";

/** A client with a known stream id and the correct passphrase. */
export interface SrtCaller {
  input: LiveInput;
  passphrase: string;
  streamId: string;
  /** IP address of the caller. */
  address: string;
}
