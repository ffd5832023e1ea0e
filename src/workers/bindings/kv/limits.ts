/** Limits documented for Workers KV (developers.cloudflare.com/kv/platform/limits). */
export const kvLimits = {
  /** UTF-8 bytes. */
  keyBytes: 512,
  valueBytes: 25 * 1024 * 1024,
  /** Size of the JSON in bytes. */
  metadataBytes: 1024,
  /** Seconds. */
  minTtl: 60,
  minCacheTtl: 30,
  listKeys: 1000,
  bulkKeys: 100,
  /** Total bytes of all values of one bulk get. */
  bulkBytes: 25 * 1024 * 1024,
  /** Pairs or keys of one bulk write or delete through the API. */
  bulkPairs: 10_000,
  /** Bytes of one bulk write as JSON. */
  bulkRequestBytes: 100 * 1024 * 1024,
  titleLength: 512,
  /** Maximum number of namespaces per account. */
  namespaces: 1000,
};

/**
 * Values up to this size are stored in the row. Measured: a row of 64 KiB is written about three times faster than an
 * object of that size (which needs an fsync for its bytes, one for its name, one for the row) and blocks the event loop
 * for under half a millisecond; at 512 KiB they are equal.
 */
export const INLINE_BYTES = 64 * 1024;
