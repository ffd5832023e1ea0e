import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseConnection } from "./connection.ts";
import { errorText, isFull, isMachineError, isSqliteError } from "./error-text.ts";

/** An error caused by the SQL. Its message is sent to the client as `error`; workerd prefixes `D1_ERROR: `. */
export class D1SqlError extends Error {}

// workerd's own messages (src/workerd/util/sqlite.c++); clients and guides quote them.
const TRANSACTION_TEXT =
  "To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. " +
  "The JavaScript API is safer because it will automatically roll back on exceptions, and because it interacts correctly with Durable Objects' automatic atomic write coalescing.";

/** Converts an error thrown by `sql` to a D1SqlError if the SQL caused it; returns machine errors unchanged. */
export function sqlErrorOf(
  caughtError: unknown,
  sql: string,
  { db, authorizer, path, limits }: DatabaseConnection,
): unknown {
  if (authorizer.wantedTransaction) return new D1SqlError(TRANSACTION_TEXT);
  if (!isSqliteError(caughtError) || isMachineError(caughtError)) return caughtError;
  if (isFull(caughtError) && hasDiskSpace(path)) return new D1SqlError("Exceeded maximum DB size");
  const prepares = (part: string) => {
    try {
      db.prepare(part);
      return undefined;
    } catch (error) {
      return isSqliteError(error) ? error.message : undefined;
    }
  };
  return new D1SqlError(errorText(caughtError, { sql, prepares, maxParameters: limits.parameters }));
}

/** SQLite reports a full disk and a database at its limit with the same error. */
function hasDiskSpace(path: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize > 16 * 1024 * 1024;
}
