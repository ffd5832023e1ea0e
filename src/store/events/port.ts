/** Change notifications. They may be lost and carry no state: listeners re-read the data. */
export interface Events {
  /**
   * Visible ASCII without spaces: `topic` at most 100, `id` at most 200 characters. Returns immediately; listeners are
   * called after the caller's own code.
   */
  publish(topic: string, id: string): void;
  /**
   * Returns a function that unsubscribes. An empty `id` means that notifications may have been lost (after a lost
   * connection): re-read everything. Errors of `on` are logged and do not affect others.
   */
  subscribe(topic: string, on: (id: string) => void): () => void;
  close(): Promise<void>;
}
