export const aiGatewayLimits = {
  gatewaysPerAccount: 20,
  idLength: 64,
  /** Maximum number of stored logs per gateway, and the default. */
  logsPerGateway: 10_000,
  /** Characters of a request or response that a log keeps. */
  headChars: 8 * 1024,
  /** Maximum size of the metadata of a log as JSON. */
  metadataChars: 2048,
  /** Largest response that is cached, in bytes. */
  cachedBytes: 256 * 1024,
  cacheEntriesPerAccount: 1000,
  cacheKeyChars: 1024,
  /** Maximum lifetime of a cached response: one month. */
  cacheTtlSeconds: 2_678_400,
  rateLimitRequests: 1_000_000,
  rateLimitSeconds: 86_400,
  /** Maximum number of requests in a universal request: the first, and its fallbacks. */
  steps: 5,
};
