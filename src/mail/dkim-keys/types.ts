/** The service that signs with a key: each has its own selectors. */
export type DkimUse = "routing" | "sending";
export type DkimAlgorithm = "rsa" | "ed25519";

/**
 * `next`: published, not signing yet. `active`: signing. `retired`: no longer signing, but still published while
 * messages it has signed may be in transit.
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
  /** Base64: the SubjectPublicKeyInfo for RSA, the 32 octets for Ed25519 (RFC 8463 3). */
  publicKey: string;
  createdAt: number;
  retiredAt: number | null;
}

/** The published record of a key. */
export interface DkimRecord {
  selector: string;
  /** Text of the TXT record. */
  text: string;
}

export interface DkimSigningKey {
  domain: string;
  selector: string;
  algorithm: DkimAlgorithm;
  /** PKCS #8, PEM. */
  privateKey: string;
}
