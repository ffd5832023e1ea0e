/** Encryption of small values at rest. An encrypted value identifies its key, so that keys can be rotated. */
export interface Secrets {
  /**
   * `context` (for example `script/inbox/API_KEY`) is authenticated: an encrypted value can be decrypted only with the
   * same context.
   */
  seal(plain: string, context: string): string;
  /**
   * Throws StoreError cannotOpenSecret if the value was modified or truncated, or was encrypted for another context or
   * with another key.
   */
  open(sealed: string, context: string): string;
  /**
   * Derives keys for signing values that clients send back to us (base64url of 32 bytes), one per key, newest first:
   * the first one signs, all of them verify.
   */
  derive(purpose: string): [string, ...string[]];
}
