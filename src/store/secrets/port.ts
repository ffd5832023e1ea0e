/** Encryption of small values at rest. A sealed value names its key, so that keys can be rotated. */
export interface Secrets {
  /** `context` (for example `script/inbox/API_KEY`) is bound in: a sealed value opens only under the context it was sealed for. */
  seal(plain: string, context: string): string;
  /** Throws StoreError cannotOpenSecret when the value was changed, cut, or sealed for another context or key. */
  open(sealed: string, context: string): string;
}
