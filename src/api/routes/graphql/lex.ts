/** An invalid query; the message is returned to the client. */
export class QueryError extends Error {
  override readonly name = "QueryError";
  readonly path: (string | number)[] | null;

  constructor(message: string, path: (string | number)[] | null = null) {
    super(message);
    this.path = path;
  }
}

export interface GraphqlToken {
  kind: "name" | "int" | "float" | "string" | "sign" | "end";
  /** The value of a string token. */
  text: string;
  at: number;
}

const MAX_TOKENS = 10_000;
// Matched one after another, each starting at the end of the previous match (GraphQL, October 2021, 2.1).
const IGNORED = /(?:[\s,\ufeff]|#[^\n\r]*)+/y;
const NAME = /[_A-Za-z][_0-9A-Za-z]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![_A-Za-z0-9.])/y;
const SIGN = /\.\.\.|[!$&()[\]{}:=@|]/y;
const BLOCK = /"""((?:\\"""|(?!""")[\s\S])*)"""/y;
const STRING = /"((?:[^"\\\n\r]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*)"/y;

/** Splits a query into tokens. Throws QueryError. */
export function lex(source: string): GraphqlToken[] {
  const tokens: GraphqlToken[] = [];
  let at = 0;

  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(source);
  }
  function add(kind: GraphqlToken["kind"], text: string, length: number) {
    if (tokens.length === MAX_TOKENS) throw new QueryError(`the query has more than ${MAX_TOKENS} tokens`);
    tokens.push({ kind, text, at });
    at += length;
  }

  for (;;) {
    at += match(IGNORED)?.[0].length ?? 0;
    if (at >= source.length) break;
    const [name] = match(NAME) ?? [];
    if (name !== undefined) {
      add("name", name, name.length);
      continue;
    }
    const [sign] = match(SIGN) ?? [];
    if (sign !== undefined) {
      add("sign", sign, sign.length);
      continue;
    }
    const number = match(NUMBER);
    if (number !== null) {
      add(number[1] === undefined && number[2] === undefined ? "int" : "float", number[0], number[0].length);
      continue;
    }
    const block = match(BLOCK);
    if (block !== null) {
      add("string", block[1]!.replaceAll('\\"""', '"""').trim(), block[0].length);
      continue;
    }
    const text = match(STRING);
    if (text === null)
      throw new QueryError(
        `syntax error at ${lineAndColumn(source, at)}: unexpected ${JSON.stringify(source.slice(at, at + 10))}`,
      );
    // The content is the same as in a JSON string, except for control characters.
    // oxlint-disable-next-line no-control-regex
    add("string", JSON.parse(`"${text[1]!.replace(/[\0-\x1f]/g, " ")}"`) as string, text[0].length);
  }
  tokens.push({ kind: "end", text: "the end of the query", at });
  return tokens;
}

/** Line and column, counted from 1. */
export function lineAndColumn(source: string, at: number): string {
  const before = source.slice(0, at).split(/\r\n|[\r\n]/);
  return `${before.length}:${before.at(-1)!.length + 1}`;
}
