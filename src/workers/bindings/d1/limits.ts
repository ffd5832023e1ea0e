/** Limits of one database. The defaults are those documented for D1 (developers.cloudflare.com/d1/platform/limits). */
export interface D1Limits {
  /** Bytes of one SQL statement. */
  statementBytes: number;
  /** Bound parameters of one statement. */
  parameters: number;
  /** Columns of a table or a result. */
  columns: number;
  /** Arguments of a SQL function. */
  functionArguments: number;
  /** Bytes of a LIKE or GLOB pattern. */
  patternBytes: number;
  /** Bytes of a string, a BLOB or a row. */
  valueBytes: number;
  /** Bytes of the database file. */
  databaseBytes: number;
  /** Bytes of one request with all its statements and parameters. D1 documents no limit. */
  requestBytes: number;
  /** Bytes of one response as JSON. D1 documents no limit. */
  resultBytes: number;
  /** Maximum run time in milliseconds of one request (a whole batch). */
  requestMs: number;
  /**
   * Maximum time in milliseconds that a request waits for its turn: long enough for a killed request and those queued
   * before it.
   */
  waitMs: number;
  /** Requests that may wait for one database. */
  waiting: number;
  /** Bytes of an uploaded SQL file. */
  importBytes: number;
  /**
   * Characters of one statement in an import. More than for a query: a row of the maximum size, exported as SQL, must
   * be importable.
   */
  importStatementBytes: number;
  /** Maximum duration of one import or export in milliseconds. */
  transferMs: number;
  /** Milliseconds that queries wait for an import before they are rejected. */
  importPatienceMs: number;
}

export const d1Limits: D1Limits = {
  statementBytes: 100_000,
  parameters: 100,
  columns: 100,
  functionArguments: 32,
  patternBytes: 50,
  valueBytes: 2_000_000,
  databaseBytes: 10 * 1024 ** 3,
  requestBytes: 64 * 1024 ** 2,
  resultBytes: 64 * 1024 ** 2,
  requestMs: 30_000,
  waitMs: 60_000,
  waiting: 1_000,
  importBytes: 5 * 1024 ** 3,
  importStatementBytes: 5_000_000,
  transferMs: 3_600_000,
  importPatienceMs: 5_000,
};
