/** Published limits of a data point: https://developers.cloudflare.com/analytics/analytics-engine/limits/ */
export const pointLimits = {
  blobs: 20,
  doubles: 20,
  indexes: 1,
  /** UTF-8 bytes. */
  indexBytes: 96,
  /** Total UTF-8 bytes of all blobs. */
  blobBytes: 16 * 1024,
};

export interface AnalyticsLimits {
  /** Retention period of points. */
  retentionMs: number;
  /** Maximum number of datasets of an account. */
  datasets: number;
  /** Maximum duration of one query. */
  queryMs: number;
  /** Maximum number of concurrent queries of one account. */
  queriesPerAccount: number;
  /** Maximum number of concurrent queries. */
  queries: number;
  /** Maximum number of rows in a result, and of groups. */
  rows: number;
  /** Maximum number of values that the aggregates of a query keep in memory, for DISTINCT and quantiles. */
  values: number;
  /** Maximum size of a result in bytes. */
  resultBytes: number;
  /** Maximum memory of the groups, aggregates and rows of a query in bytes. Approximate. */
  memoryBytes: number;
}

export const DEFAULT_ANALYTICS_LIMITS: AnalyticsLimits = {
  // Three months, as published.
  retentionMs: 92 * 24 * 60 * 60 * 1000,
  datasets: 1000,
  queryMs: 30_000,
  queriesPerAccount: 4,
  queries: 8,
  rows: 50_000,
  values: 500_000,
  resultBytes: 32 * 1024 * 1024,
  memoryBytes: 128 * 1024 * 1024,
};

/** Maximum length of a string that `||` returns. */
export const MAX_STRING_LENGTH = 64 * 1024;

/** Maximum length of a query in bytes. */
export const MAX_QUERY_BYTES = 64 * 1024;
