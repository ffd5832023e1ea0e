/** Which service signs with a key: each has selectors of its own. */
export type DkimUse = "routing" | "sending";
export type DkimAlgorithm = "rsa" | "ed25519";

/**
 * `next`: published, does not sign yet. `active`: signs. `retired`: does not sign any more, and stays published for as long as messages
 * it has signed may be on the way.
 */
export type DkimState = "next" | "active" | "retired";

export interface DkimKey {
  id: string;
  zone: string;
  account: string;
  domain: string;
  use: DkimUse;
  selector: string;
  algorithm: DkimAlgorithm;
  state: DkimState;
  /** Base64: of RSA the SubjectPublicKeyInfo, of Ed25519 the 32 octets (RFC 8463 3). */
  publicKey: string;
  createdAt: number;
  retiredAt: number | null;
}

/** What is published of a key. */
export interface DkimRecord {
  selector: string;
  /** Of the TXT record. */
  text: string;
}

export interface SigningKey {
  domain: string;
  selector: string;
  algorithm: DkimAlgorithm;
  /** PKCS #8, PEM. */
  privateKey: string;
}
