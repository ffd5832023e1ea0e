import type { KeyObject } from "node:crypto";

/** Signing keys for playback tokens. Every key of an account signs for all of its videos. */
export interface SigningKeys {
  /** Returns the private half only once; it is not stored. Throws tooManyKeys. */
  create(account: string): Promise<NewSigningKey>;
  /** Oldest first; excludes the account's default key. */
  list(account: string): Promise<SigningKey[]>;
  /**
   * Tokens signed with the key are rejected from now on, in this process immediately and in other processes when the
   * event arrives. Also accepts the account's default key, which is then replaced by a new one. Throws keyNotFound.
   */
  delete(account: string, id: string): Promise<void>;
  /**
   * Finds a key of any account; called for every segment. Undefined as soon as the key is revoked; ids are not reused.
   */
  find(id: string): Promise<VerifyingKey | undefined>;
  /** Resolves with the default signing key of an account. Created on first use. */
  own(account: string): Promise<{ id: string; privateKey: KeyObject }>;
  close(): void;
}

interface SigningKey {
  /** 32 hex digits. */
  id: string;
  account: string;
  /** Epoch milliseconds. */
  created: number;
}

interface NewSigningKey extends SigningKey {
  privateKey: KeyObject;
}

export interface VerifyingKey {
  account: string;
  /** RSA. */
  publicKey: KeyObject;
}
