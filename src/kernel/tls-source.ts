import type { SecureContext } from "node:tls";

/**
 * Source of TLS certificates for listeners. Certificates may change at any time (a replaced file, a renewal), so
 * listeners call it for each connection; open connections keep their certificate.
 */
export interface TlsSource {
  /**
   * Returns the certificate for the requested server name (SNI), or the default one. Never throws; costs one map
   * lookup.
   *
   * new TLSSocket(socket, { isServer: true, secureContext: tls.context(), SNICallback: (name, done) => done(null,
   * tls.context(name)) })
   */
  context(serverName?: string): SecureContext;
  /**
   * Returns the PEM data behind `context`: certificate with chain, and key. For `tls.createServer` and
   * `https.createServer`, which accept no context: pass `{ ...tls.pem(), SNICallback }` and call
   * `server.setSecureContext(tls.pem())` after each change.
   */
  pem(serverName?: string): TlsPem;
  /** Calls `listen` after each change; returns a function that unsubscribes. */
  onChange(listen: () => void): () => void;
}

export interface TlsPem {
  cert: string;
  key: string;
}
