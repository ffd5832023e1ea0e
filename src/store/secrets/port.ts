/** Encryption of small values at rest. A sealed value names its key, so that keys can be rotated. */
export interface Secrets {
  /**
   * `context` (for example `script/inbox/API_KEY`) is authenticated: a sealed value opens only under the same context.
   */
  seal(plain: string, context: string): string;
  /** Throws StoreError cannotOpenSecret if the value was modified, truncated, or sealed for another context or key. */
  open(sealed: string, context: string): string;
  /**
   * Keys derived for signing values that return to us (base64url of 32 octets), one per key, newest first: the first
   * signs, all verify.
   */
  derive(purpose: string): [string, ...string[]];
}
