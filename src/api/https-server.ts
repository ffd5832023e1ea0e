import type { ServerOptions } from "node:http";
import { createServer, type Server } from "node:https";
import type { TlsSource } from "../kernel/tls-source.ts";

/** How long a client may take to agree on a key. */
const HANDSHAKE_MS = 20_000;

/** HTTPS with whatever certificate `tls` has at the moment a client comes. */
export function createHttpsServer(options: ServerOptions, tls: TlsSource): Server {
  const server = createServer({
    ...options,
    ...tls.pem(),
    handshakeTimeout: HANDSHAKE_MS,
    SNICallback: (name, done) => done(null, tls.context(name)),
  });
  // For clients that name no host: SNICallback is not asked for them.
  const enough = tls.onChange(() => server.setSecureContext(tls.pem()));
  return server.once("close", enough);
}
