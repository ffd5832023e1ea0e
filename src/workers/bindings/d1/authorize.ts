import { constants } from "node:sqlite";

const {
  SQLITE_OK,
  SQLITE_DENY,
  SQLITE_ATTACH,
  SQLITE_DETACH,
  SQLITE_PRAGMA,
  SQLITE_TRANSACTION,
  SQLITE_SAVEPOINT,
  SQLITE_FUNCTION,
  SQLITE_CREATE_VTABLE,
  SQLITE_CREATE_TEMP_INDEX,
  SQLITE_CREATE_TEMP_TABLE,
  SQLITE_CREATE_TEMP_TRIGGER,
  SQLITE_CREATE_TEMP_VIEW,
  SQLITE_CREATE_INDEX,
  SQLITE_CREATE_TABLE,
  SQLITE_CREATE_TRIGGER,
  SQLITE_CREATE_VIEW,
  SQLITE_DELETE,
  SQLITE_DROP_TABLE,
  SQLITE_INSERT,
  SQLITE_READ,
  SQLITE_UPDATE,
  SQLITE_ALTER_TABLE,
  SQLITE_ANALYZE,
} = constants;

// The pragmas that D1 supports. Pragmas that could access other files or change durability or limits are excluded.
const TABLE_PRAGMAS = new Set([
  "table_info",
  "table_xinfo",
  "index_list",
  "index_info",
  "index_xinfo",
  "foreign_key_list",
]);
const READ_ONLY_PRAGMAS = new Set(["data_version", "page_size"]);
const OPTIONAL_VALUE_PRAGMAS = new Set(["table_list", "quick_check", "foreign_key_check", "optimize"]);
const SETTABLE_PRAGMAS = new Set([
  "foreign_keys",
  "defer_foreign_keys",
  "ignore_check_constraints",
  "legacy_alter_table",
  "recursive_triggers",
  "reverse_unordered_selects",
  "case_sensitive_like",
]);

const REFUSED_FUNCTIONS = new Set([
  "load_extension",
  "fts3_tokenizer",
  "fts5",
  "sqlite_log",
  "sqlite_version",
  "sqlite_source_id",
  "sqlite_compileoption_get",
  "sqlite_compileoption_used",
]);

const MODULES = new Set(["fts5", "fts5vocab", "rtree", "rtree_i32"]);

const REFUSED_ACTIONS = new Set([
  SQLITE_ATTACH,
  SQLITE_DETACH,
  SQLITE_CREATE_TEMP_INDEX,
  SQLITE_CREATE_TEMP_TABLE,
  SQLITE_CREATE_TEMP_TRIGGER,
  SQLITE_CREATE_TEMP_VIEW,
]);

// Actions whose first and second arguments name an existing or new table.
const NAMES_IN_FIRST = new Set([
  SQLITE_CREATE_TABLE,
  SQLITE_CREATE_VIEW,
  SQLITE_CREATE_VTABLE,
  SQLITE_DELETE,
  SQLITE_DROP_TABLE,
  SQLITE_INSERT,
  SQLITE_READ,
  SQLITE_UPDATE,
  SQLITE_ANALYZE,
]);
const NAMES_IN_SECOND = new Set([SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER, SQLITE_ALTER_TABLE]);

/**
 * Called by SQLite for every action of a statement while compiling it (https://sqlite.org/c3ref/set_authorizer.html).
 */
export interface Authorizer {
  authorize(action: number, first: string | null, second: string | null): number;
  /** Allows everything while `work` runs: used for the server's own statements on the connection. */
  trust<Result>(work: () => Result): Result;
  /** Set when a statement tried to control a transaction. */
  wantedTransaction: boolean;
  /** Set when a pragma was compiled. */
  sawPragma: boolean;
  /** Set when a pragma changed the behavior of this connection. */
  changedSettings: boolean;
}

export function createAuthorizer(): Authorizer {
  let isTrusted = false;
  const authorizer: Authorizer = {
    wantedTransaction: false,
    sawPragma: false,
    changedSettings: false,
    authorize: (action, first, second) => (isTrusted || isAllowed(action, first, second) ? SQLITE_OK : SQLITE_DENY),
    trust(work) {
      isTrusted = true;
      try {
        return work();
      } finally {
        isTrusted = false;
      }
    },
  };

  function isAllowed(action: number, first: string | null, second: string | null): boolean {
    if (REFUSED_ACTIONS.has(action)) return false;
    switch (action) {
      case SQLITE_TRANSACTION:
      case SQLITE_SAVEPOINT:
        authorizer.wantedTransaction = true;
        return false;
      case SQLITE_PRAGMA:
        return isPragmaAllowed(first!.toLowerCase(), second !== null);
      case SQLITE_FUNCTION:
        return !REFUSED_FUNCTIONS.has(second!.toLowerCase());
      case SQLITE_CREATE_VTABLE:
        return MODULES.has(second!.toLowerCase()) && !isReserved(first);
      default:
        return (
          !(NAMES_IN_FIRST.has(action) && isReserved(first)) && !(NAMES_IN_SECOND.has(action) && isReserved(second))
        );
    }
  }

  function isPragmaAllowed(name: string, hasValue: boolean): boolean {
    authorizer.sawPragma = true;
    if (SETTABLE_PRAGMAS.has(name)) {
      // These two end with the transaction, or have no effect inside one. case_sensitive_like takes effect even when it
      // is only compiled.
      const isPersistent = name !== "defer_foreign_keys" && name !== "foreign_keys";
      if (isPersistent && (hasValue || name === "case_sensitive_like")) authorizer.changedSettings = true;
      return true;
    }
    return OPTIONAL_VALUE_PRAGMAS.has(name) || (hasValue ? TABLE_PRAGMAS.has(name) : READ_ONLY_PRAGMAS.has(name));
  }

  return authorizer;
}

/** D1 reserves names that start with `_cf_`; names rejected by D1 are rejected here too. */
const isReserved = (name: string | null) => name !== null && /^_cf_/i.test(name);
