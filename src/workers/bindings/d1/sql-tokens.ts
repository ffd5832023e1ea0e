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
    String.raw`(?<string>'(?:[^']|'')*'?)`,
    String.raw`(?<name>"(?:[^"]|"")*"?|${"`"}(?:[^${"`"}]|${"``"})*${"`"}?|\[[^\]]*\]?)`,
    String.raw`(?<parameter>\?\d*|[:@$][\w$\u0080-\uffff]+)`,
    String.raw`(?<number>(?:\d|\.\d)[\w.]*)`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<other>[^])`,
  ].join("|"),
  "gy",
);

/** Without white space and comments. */
export function* sqlTokens(sql: string): Generator<SqlToken> {
  for (const match of sql.matchAll(TOKEN)) {
    const groups = match.groups!;
    if (groups.space !== undefined) continue;
    const kind = (["string", "name", "word", "number", "parameter", "other"] as const).find((name) => groups[name] !== undefined)!;
    yield { kind, text: match[0], start: match.index };
  }
}

const TRIGGER = /^(?:EXPLAIN (?:QUERY PLAN )?)?CREATE (?:TEMP |TEMPORARY )?TRIGGER\b/i;

/**
 * Cuts a script at its semicolons; statements that are nothing but comments are left out.
 * The body of CREATE TRIGGER holds semicolons of its own and ends at `; END;`, as in sqlite3_complete().
 */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let first: SqlToken | undefined;
  let words = "";
  let last: string | undefined;
  let beforeLast: string | undefined;
  let parameters = createParameterList();

  function finish(end: number) {
    if (first) statements.push({ sql: sql.slice(first.start, end), parameters: parameters.list });
    first = last = beforeLast = undefined;
    words = "";
    parameters = createParameterList();
  }

  for (const token of sqlTokens(sql)) {
    const ends = token.text === ";" && (!TRIGGER.test(words) || (beforeLast === ";" && last?.toUpperCase() === "END"));
    if (ends) {
      finish(token.start);
      continue;
    }
    first ??= token;
    if (words.length < 60) words += `${token.text} `;
    if (token.kind === "parameter") parameters.add(token.text);
    beforeLast = last;
    last = token.text;
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
      else if (text.startsWith("?")) for (const wanted = Math.min(Number(text.slice(1)), 100_000); list.length < wanted; ) list.push(null);
      else if (!list.includes(text)) list.push(text);
    },
  };
}
