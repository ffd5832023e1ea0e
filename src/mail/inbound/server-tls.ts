import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { TlsSource } from "../../kernel/tls-source.ts";

/** Starts a TLS handshake as the server. */
export function serverTls(socket: Socket, tls: Pick<TlsSource, "context">): TLSSocket {
  return new TLSSocket(socket, {
    isServer: true,
    secureContext: tls.context(),
    SNICallback: (serverName, done) => done(null, tls.context(serverName)),
  });
}

/** Protocol and cipher suite; undefined for plain TCP. */
export function cipherOf(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { version, name } = socket.getCipher();
  return `${version} ${name}`;
}
