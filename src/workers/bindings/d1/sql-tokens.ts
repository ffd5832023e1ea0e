/** What SQLite's tokenizer sees (https://sqlite.org/src/file/src/tokenize.c), as far as splitting and counting need it. */
export interface SqlToken {
  kind: "string" | "name" | "word" | "number" | "parameter" | "other";
  text: string;
  /** UTF-16 index in the SQL. */
  start: number;
}

export interface SqlStatement {
  sql: string;
  /** One entry for each parameter, in SQLite's numbering from 1; null where it has no name of its own (`?`, `?3`). */
  parameters: (string | null)[];
}

// Comments run to the end of the input when nothing ends them, and so do quotes: SQLite then reports the error.
const TOKEN = new RegExp(
  [
    String.raw`(?<space>[ \t\n\f\r]+|--[^\n]*|\/\*[^]*?(?:\*\/|$))`,
    // One quote doubled inside makes two tokens here: what splits a script does not care, and a choice repeated for each
    // character would exhaust the stack of the expression's engine in a text of some megabytes.
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

/** Without white space and comments. */
export function* sqlTokens(sql: string): Generator<SqlToken> {
  for (const match of sql.matchAll(TOKEN)) {
    const kind = kindOf(match.groups!);
    if (kind !== undefined) yield { kind, text: match[0], start: match.index };
  }
}

/** matchAll() begins where the expression it is given stands: what is moved about is another one. */
const STEP = new RegExp(TOKEN);

/** The token at an index of the text, white space and comments too (as kind undefined); undefined at the end. */
export function tokenAt(sql: string, index: number): { kind: SqlToken["kind"] | undefined; text: string } | undefined {
  STEP.lastIndex = index;
  const match = STEP.exec(sql);
  return match === null ? undefined : { kind: kindOf(match.groups!), text: match[0] };
}

const TRIGGER = /^(?:EXPLAIN (?:QUERY PLAN )?)?CREATE (?:TEMP |TEMPORARY )?TRIGGER\b/i;

/**
 * Told the tokens of a script one after the other, says which semicolon ends a statement:
 * the body of CREATE TRIGGER holds semicolons of its own and ends at `; END;`, as in sqlite3_complete().
 */
export function createStatementEnd(): (token: string) => boolean {
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

/** Cuts a script at its semicolons; statements that are nothing but comments are left out. */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  const isEnd = createStatementEnd();
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

/** sqlite3ExprAssignVarNumber(): `?` takes the next number, `?5` its own, a name the number of its first use. */
function createParameterList() {
  const list: (string | null)[] = [];
  return {
    list,
    add(text: string) {
      if (text === "?") list.push(null);
      // SQLite refuses numbers above its limit; the list must not grow with them before it can.
      else if (text.startsWith("?"))
        for (const wanted = Math.min(Number(text.slice(1)), 100_000); list.length < wanted;) list.push(null);
      else if (!list.includes(text)) list.push(text);
    },
  };
}
