import type { KeyObject } from "node:crypto";

/** The keys that playback tokens of an account are signed with. Any of them signs for any of its videos. */
export interface SigningKeys {
  /** The private half is told this once and not kept. Throws tooManyKeys. */
  create(account: string): Promise<NewSigningKey>;
  /** The oldest first; without the account's own. */
  list(account: string): Promise<SigningKey[]>;
  /** No token of it is accepted from now on, here at once and elsewhere within the blink of an event. The account's own too: another one is made in its place. Throws keyNotFound. */
  delete(account: string, id: string): Promise<void>;
  /** Whosever it is: asked for every segment. Undefined as soon as it is revoked; ids do not come back. */
  find(id: string): Promise<VerifyingKey | undefined>;
  /** The key that tokens are signed with for an account that names none of its own. Made when it is asked for first. */
  own(account: string): Promise<{ id: string; privateKey: KeyObject }>;
  close(): void;
}

export interface SigningKey {
  /** 32 hex digits. */
  id: string;
  account: string;
  /** Epoch milliseconds. */
  created: number;
}

export interface NewSigningKey extends SigningKey {
  privateKey: KeyObject;
}

export interface VerifyingKey {
  account: string;
  /** RSA. */
  publicKey: KeyObject;
}
