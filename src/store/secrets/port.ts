/** Encryption of small values at rest. A sealed value names its key, so that keys can be rotated. */
export interface Secrets {
  /** `context` (for example `script/inbox/API_KEY`) is bound in: a sealed value opens only under the context it was sealed for. */
  seal(plain: string, context: string): string;
  /** Throws StoreError cannotOpenSecret when the value was changed, cut, or sealed for another context or key. */
  open(sealed: string, context: string): string;
  /** Keys for signing what leaves and comes back (base64url of 32 octets), one of each key there is, newest first: the first signs, all are believed. */
  derive(purpose: string): [string, ...string[]];
}
