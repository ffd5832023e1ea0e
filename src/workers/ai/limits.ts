export const aiLimits = {
  /** The inputs of a call as JSON, and a response that is not streamed. */
  bodyBytes: 10 * 1024 * 1024,
  /** One event of a streamed response. */
  eventBytes: 1024 * 1024,
  /** Concurrent calls of all workers of a process. */
  calls: 100,
  /** Texts of one embedding call. */
  texts: 100,
  /** Milliseconds until the server responds, and between two parts of a streamed response. */
  responseMs: 120_000,
};
