/**
 * The tokens of SQLite's tokenizer (https://sqlite.org/src/file/src/tokenize.c), as far as needed for splitting and
 * counting.
 */
interface SqlToken {
  kind: "string" | "name" | "word" | "number" | "parameter" | "other";
  text: string;
  /** UTF-16 index in the SQL. */
  start: number;
}

export interface SqlStatement {
  sql: string;
  /** One entry per parameter, in SQLite's numbering from 1; null for a parameter without a name (`?`, `?3`). */
  parameters: (string | null)[];
}

// Unterminated comments and quotes extend to the end of the input; SQLite then reports the error.
const TOKEN = new RegExp(
  [
    String.raw`(?<space>[ \t\n\f\r]+|--[^\n]*|\/\*[^]*?(?:\*\/|$))`,
    // A doubled quote inside produces two tokens here. Splitting does not depend on it, and an alternation repeated for
    // every character would overflow the regex engine's stack on a text of several megabytes.
    String.raw`(?<string>'[^']*'?)`,
    String.raw`(?<name>"[^"]*"?|${"`"}[^${"`"}]*${"`"}?|\[[^\]]*\]?)`,
    String.raw`(?<parameter>\?\d*|[:@$][\w$\u0080-\uffff]+)`,
    String.raw`(?<number>(?:\d|\.\d)[\w.]*)`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<other>[^])`,
  ].join("|"),
  "gy",
);

const kindOf = (groups: Record<string, string | undefined>) =>
  (["string", "name", "word", "number", "parameter", "other"] as const).find((name) => groups[name] !== undefined);

/** Skips white space and comments. */
export function* sqlTokens(sql: string): Generator<SqlToken> {
  for (const match of sql.matchAll(TOKEN)) {
    const kind = kindOf(match.groups!);
    if (kind !== undefined) yield { kind, text: match[0], start: match.index };
  }
}

/** matchAll() starts at the expression's lastIndex, so moving that index needs a separate expression. */
const STEP = new RegExp(TOKEN);

/**
 * Returns the token at an index of the text, including white space and comments (with kind undefined); undefined at the
 * end.
 */
export function tokenAt(sql: string, index: number): { kind: SqlToken["kind"] | undefined; text: string } | undefined {
  STEP.lastIndex = index;
  const match = STEP.exec(sql);
  return match === null ? undefined : { kind: kindOf(match.groups!), text: match[0] };
}

const TRIGGER = /^(?:EXPLAIN (?:QUERY PLAN )?)?CREATE (?:TEMP |TEMPORARY )?TRIGGER\b/i;

/**
 * Receives the tokens of a script in order and returns true for a semicolon that ends a statement: the body of CREATE
 * TRIGGER contains semicolons and ends at `; END;`, as in sqlite3_complete().
 */
export function createStatementEndDetector(): (token: string) => boolean {
  let words = "";
  let last: string | undefined;
  let beforeLast: string | undefined;
  return (token) => {
    if (token === ";" && (!TRIGGER.test(words) || (beforeLast === ";" && last?.toUpperCase() === "END"))) {
      words = "";
      last = beforeLast = undefined;
      return true;
    }
    if (words.length < 60) words += `${token.slice(0, 60)} `;
    beforeLast = last;
    last = token;
    return false;
  };
}

/** Splits a script at its semicolons; statements that contain only comments are omitted. */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  const isEnd = createStatementEndDetector();
  let first: SqlToken | undefined;
  let parameters = createParameterList();

  function finish(end: number) {
    if (first) statements.push({ sql: sql.slice(first.start, end), parameters: parameters.list });
    first = undefined;
    parameters = createParameterList();
  }

  for (const token of sqlTokens(sql)) {
    if (isEnd(token.text)) {
      finish(token.start);
      continue;
    }
    first ??= token;
    if (token.kind === "parameter") parameters.add(token.text);
  }
  finish(sql.length);
  return statements;
}

/**
 * Numbers parameters like sqlite3ExprAssignVarNumber(): `?` takes the next number, `?5` the number 5, and a name the
 * number of its first use.
 */
function createParameterList() {
  const list: (string | null)[] = [];
  return {
    list,
    add(text: string) {
      if (text === "?") list.push(null);
      // SQLite rejects numbers above its limit; the list must not grow to that size first.
      else if (text.startsWith("?"))
        for (const parameterNumber = Math.min(Number(text.slice(1)), 100_000); list.length < parameterNumber;)
          list.push(null);
      else if (!list.includes(text)) list.push(text);
    },
  };
}
