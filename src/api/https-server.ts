import type { ServerOptions } from "node:http";
import { createServer, type Server } from "node:https";
import type { TlsSource } from "../kernel/tls-source.ts";

/** Time limit for the TLS handshake. */
const HANDSHAKE_MS = 20_000;

/** Creates an HTTPS server that uses the current certificate from `tls` for each connection. */
export function createHttpsServer(options: ServerOptions, tls: TlsSource): Server {
  const server = createServer({
    ...options,
    ...tls.pem(),
    handshakeTimeout: HANDSHAKE_MS,
    SNICallback: (name, done) => done(null, tls.context(name)),
  });
  // Needed for clients without SNI, for which SNICallback is not called.
  const unsubscribe = tls.onChange(() => server.setSecureContext(tls.pem()));
  return server.once("close", unsubscribe);
}
