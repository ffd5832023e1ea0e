import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The v4 API of the development server. */
export interface DevApi {
  /** For the command line: handles requests with the announced token. Their paths are relative to the announced URL. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /**
   * For the dashboard: handles requests without a token. The caller has already rejected requests from pages of other
   * origins and requests for host names that may be public (DNS rebinding).
   */
  handleLocal(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Opens the WebSocket connection of a tail, whose id is the credential; returns true if the request was for one. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Lets commands find the server. Call it once the server handles requests under this URL. */
  announce(url: string): void;
  /** Removes the announcement, so that commands open the storage directly. */
  withdraw(): void;
}
