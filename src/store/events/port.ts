/** A hint that something changed, never the truth: listeners re-read state. Lossy over reconnects. */
export interface Events {
  /** `id` at most 200 characters of visible ASCII. */
  publish(topic: string, id: string): void;
  /** Returns the function that ends the subscription. */
  subscribe(topic: string, on: (id: string) => void): () => void;
  close(): Promise<void>;
}
