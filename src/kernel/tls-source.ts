import type { SecureContext } from "node:tls";

/**
 * Where listeners get their certificate from. It may be another one at any time (a file was replaced, ACME issued a new one), so listeners ask
 * for each connection and keep none; connections that are open stay as they are.
 */
export interface TlsSource {
  /**
   * For one connection: the certificate for the name that the client asks for (SNI), or the default one. Never throws, costs a look into a map.
   *
   *     new TLSSocket(socket, { isServer: true, secureContext: tls.context(), SNICallback: (name, done) => done(null, tls.context(name)) })
   */
  context(serverName?: string): SecureContext;
  /**
   * What `context` is made of, PEM, the certificate with its chain. For `tls.createServer` and `https.createServer`, which take no context:
   * give them `{ ...tls.pem(), SNICallback }`, and `server.setSecureContext(tls.pem())` after each change.
   */
  pem(serverName?: string): TlsPem;
  /** Calls `listen` after each change; returns what ends that. */
  onChange(listen: () => void): () => void;
}

export interface TlsPem {
  cert: string;
  key: string;
}
