import { sqlTokens } from "./sql-tokens.ts";

// https://sqlite.org/rescode.html: the primary result codes by number.
const PRIMARY = [
  "OK",
  "ERROR",
  "INTERNAL",
  "PERM",
  "ABORT",
  "BUSY",
  "LOCKED",
  "NOMEM",
  "READONLY",
  "INTERRUPT",
  "IOERR",
  "CORRUPT",
  "NOTFOUND",
  "FULL",
  "CANTOPEN",
  "PROTOCOL",
  "EMPTY",
  "SCHEMA",
  "TOOBIG",
  "CONSTRAINT",
  "MISMATCH",
  "MISUSE",
  "NOLFS",
  "AUTH",
  "FORMAT",
  "RANGE",
  "NOTADB",
];

// The extended codes of SQLITE_CONSTRAINT by their high byte.
const CONSTRAINT = [
  "",
  "CHECK",
  "COMMITHOOK",
  "FOREIGNKEY",
  "FUNCTION",
  "NOTNULL",
  "PRIMARYKEY",
  "TRIGGER",
  "UNIQUE",
  "VTAB",
  "ROWID",
  "PINNED",
  "DATATYPE",
];

const CONSTRAINT_CODE = 19;
const FULL_CODE = 13;

/** Errors of node:sqlite carry SQLite's extended result code. */
export const isSqliteError = (caughtError: unknown): caughtError is Error & { errcode: number } =>
  caughtError instanceof Error && "errcode" in caughtError && typeof caughtError.errcode === "number";

export const isFull = (error: { errcode: number }): boolean => (error.errcode & 0xff) === FULL_CODE;

/** True for SQLITE_IOERR, CORRUPT, CANTOPEN and NOTADB, which are not caused by a worker's SQL. */
export const isMachineError = (error: { errcode: number }): boolean => [10, 11, 14, 26].includes(error.errcode & 0xff);

interface FailedSql {
  sql: string;
  /** Returns the error from compiling a piece of SQL; undefined if it compiles. */
  prepares(sql: string): string | undefined;
  maxParameters: number;
}

/**
 * Returns the message the database server sends; workerd prepends `D1_ERROR: `: `UNIQUE constraint failed: t.id:
 * SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)`.
 */
export function errorText(error: Error & { errcode: number }, failedSql: FailedSql): string {
  const primary = error.errcode & 0xff;
  const extendedCode = primary === CONSTRAINT_CODE ? CONSTRAINT[error.errcode >> 8] : undefined;
  const offset = errorOffset(error.message, failedSql);
  return `${error.message}${offset === undefined ? "" : ` at offset ${offset}`}: SQLITE_${PRIMARY[primary] ?? "ERROR"}${extendedCode ? ` (extended: SQLITE_CONSTRAINT_${extendedCode})` : ""}`;
}

// Messages for which SQLite reports an offset, with the token at that offset.
const LOCATED_ERROR_PATTERNS = [
  /^(?:no such column|ambiguous column name|no such function|not authorized to use function): (.+)$/,
  /^wrong number of arguments to function (.+)\(\)$/,
  /^(?:table|view|index|trigger) (.+) already exists$/,
  /^unrecognized token: "(.+)"$/s,
];

/**
 * Returns the offset of the first byte where the reported token occurs, because sqlite3_error_offset() is not available
 * here. A syntax error is located exactly: at the first occurrence up to which the text alone already fails the same
 * way.
 */
function errorOffset(message: string, { sql, prepares, maxParameters }: FailedSql): number | undefined {
  const tokens = [...sqlTokens(sql)];
  const nearText = /^near "(.+)": syntax error$/s.exec(message)?.[1];
  if (nearText !== undefined) {
    const matchingTokens = tokens.filter(({ text }) => text === nearText).slice(0, 32);
    return byteOffsetOf(
      sql,
      matchingTokens.length < 2
        ? matchingTokens[0]
        : matchingTokens.find(({ start }) => prepares(sql.slice(0, start + nearText.length)) === message),
    );
  }
  if (message === "too many SQL variables")
    return byteOffsetOf(sql, tokens.filter(({ kind }) => kind === "parameter")[maxParameters]);
  const blamedName = LOCATED_ERROR_PATTERNS.map((pattern) => pattern.exec(message)?.[1]).find(
    (blamedText) => blamedText !== undefined,
  );
  if (blamedName === undefined) return undefined;
  const tableOrColumn = unquoteName(blamedName.split(".")[0]!);
  // A text with doubled quotes consists of several tokens.
  const isQuote = blamedName.startsWith("'");
  return byteOffsetOf(
    sql,
    tokens.find(
      ({ text, start }) =>
        text === blamedName || unquoteName(text) === tableOrColumn || (isQuote && sql.startsWith(blamedName, start)),
    ),
  );
}

const byteOffsetOf = (sql: string, token: { start: number } | undefined) =>
  token && Buffer.byteLength(sql.slice(0, token.start));

const unquoteName = (name: string) => name.replace(/^["`[](.*)["`\]]$/s, "$1").toLowerCase();
