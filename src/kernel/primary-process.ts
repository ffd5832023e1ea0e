import type { Socket } from "node:net";

/**
 * Calls from the other processes of one `reelpost serve --processes` to the primary process, which alone has the files
 * that only one process may open: D1 databases and Durable Objects.
 */
export interface PrimaryProcess {
  /**
   * Opens a connection to a service of the primary process. Resolves once the service has accepted the call; until then,
   * nothing has been executed, so this waits while the primary process restarts. Rejects with PrimaryProcessUnavailable
   * after half a minute, or with the reason of the signal. The socket begins to flow with its first reader.
   */
  connect(service: string, call: Record<string, unknown>, signal?: AbortSignal): Promise<Socket>;
}

/**
 * Handles one call on a connection. Resolves when the call has ended; a process that stops aborts `stopping`, and then
 * waits a few seconds for that. During a rolling restart, the caller may be of the previous or the next version.
 */
export type PrimaryProcessService = (
  call: Record<string, unknown>,
  connection: Socket,
  stopping: AbortSignal,
) => Promise<void>;

/** Thrown if the primary process did not accept a call in time. */
export class PrimaryProcessUnavailable extends Error {
  override readonly name = "PrimaryProcessUnavailable";
  constructor(options?: ErrorOptions) {
    super("the primary process of this server does not respond", options);
  }
}
