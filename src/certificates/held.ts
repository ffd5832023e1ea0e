import type { TlsSource } from "../kernel/tls-source.ts";
import type { CertificateKeyPair } from "./pair.ts";

/** A TlsSource with certificates set by its owner. */
interface CertificateStore extends TlsSource {
  /**
   * Serves these certificates from now on, by name; clients that request any other name get the first one. At least one
   * is required.
   */
  replace(pairs: readonly [CertificateKeyPair, ...CertificateKeyPair[]]): void;
  current(): readonly [CertificateKeyPair, ...CertificateKeyPair[]];
}

export function createCertificateStore(first: CertificateKeyPair): CertificateStore {
  let pairs: readonly [CertificateKeyPair, ...CertificateKeyPair[]] = [first];
  let byName = new Map<string, CertificateKeyPair>();
  const listeners = new Set<() => void>();

  function hold(next: readonly [CertificateKeyPair, ...CertificateKeyPair[]]) {
    pairs = next;
    byName = new Map();
    for (const pair of next) for (const name of pair.names) if (!byName.has(name)) byName.set(name, pair);
  }

  function pick(serverName?: string): CertificateKeyPair {
    if (serverName === undefined) return pairs[0];
    const name = (serverName.endsWith(".") ? serverName.slice(0, -1) : serverName).toLowerCase();
    const dot = name.indexOf(".");
    // A wildcard matches exactly one label (RFC 9525 6.3).
    return byName.get(name) ?? (dot < 0 ? undefined : byName.get(`*${name.slice(dot)}`)) ?? pairs[0];
  }

  hold(pairs);
  return {
    replace(next) {
      hold(next);
      for (const listen of listeners) listen();
    },
    current: () => pairs,
    context: (name) => pick(name).context,
    pem(name) {
      const { cert, key } = pick(name);
      return { cert, key };
    },
    onChange(listen) {
      const own = () => listen();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}
