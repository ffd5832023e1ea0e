/** Bounds of one database. The defaults are what D1 documents (developers.cloudflare.com/d1/platform/limits). */
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
  /** Bytes of one request, all its statements and parameters together. D1 documents none. */
  requestBytes: number;
  /** Bytes of one answer as JSON. D1 documents none. */
  resultBytes: number;
  /** Milliseconds one request (a whole batch) may run. */
  requestMs: number;
  /** Milliseconds it may wait for its turn before that: time enough for one that is killed and the rest. */
  waitMs: number;
  /** Requests that may wait for one database. */
  waiting: number;
  /** Bytes of an uploaded file of SQL. */
  importBytes: number;
  /** Characters of one statement in it. More than of a query: a row as large as a row may be, exported as SQL, has to come in again. */
  importStatementBytes: number;
  /** Milliseconds one import or export may take. */
  transferMs: number;
  /** Milliseconds queries wait for an import before they are told that there is one. */
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
