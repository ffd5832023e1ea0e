export const aiLimits = {
  /** Maximum size of the inputs of a call as JSON, and of a response that is not streamed. */
  bodyBytes: 10 * 1024 * 1024,
  /** Maximum size of one event in a streamed response. */
  eventBytes: 1024 * 1024,
  /** Maximum number of concurrent calls per server process. */
  concurrentCalls: 100,
  /** Maximum number of texts per embeddings call. */
  textsPerCall: 100,
  /** Maximum time until the AI server responds, and between two chunks of a streamed response. */
  responseMs: 120_000,
};
