/** A hint that something changed, never the truth: listeners re-read state. */
export interface Events {
  /** Words without spaces: `topic` at most 100, `id` at most 200 characters of visible ASCII. Returns at once; delivery comes after the caller's own code. */
  publish(topic: string, id: string): void;
  /**
   * Returns the function that ends the subscription. An empty `id` means that hints may have been lost (the connection
   * to the database was): look at everything again. What `on` throws is logged and disturbs nobody.
   */
  subscribe(topic: string, on: (id: string) => void): () => void;
  close(): Promise<void>;
}
