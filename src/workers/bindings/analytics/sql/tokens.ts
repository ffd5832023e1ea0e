import { analyticsErrors } from "../errors.ts";

export interface QueryToken {
  kind: "name" | "string" | "number" | "symbol" | "end";
  text: string;
  /** Offsets in the query: of its first character, and of the one after its last. */
  at: number;
  end: number;
  /** True for a quoted name, which is never a keyword. */
  quoted?: true;
}

const MAX_TOKENS = 5_000;
const TOKEN_PATTERN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*|/\*[^]*?\*/)`,
    String.raw`(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<name>[A-Za-z_]\w*)`,
    String.raw`'(?<string>(?:[^'\\]|\\[^]|'')*)'`,
    String.raw`"(?<quoted>[^"]+)"`,
    "`(?<ticked>[^`]+)`",
    String.raw`(?<symbol><=|>=|!=|<>|\|\||[-+*/%(),.<>=;])`,
  ].join("|"),
  "y",
);
/** `\%` and `\_` keep their backslash for LIKE. */
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", 0: "\0", "%": "\\%", _: "\\_" };

/** Splits a query into tokens. Throws invalidQuery for text that is not a token. */
export function tokenizeQuery(query: string): QueryToken[] {
  const tokens: QueryToken[] = [];
  let tokenStart = 0;
  while (tokenStart < query.length) {
    TOKEN_PATTERN.lastIndex = tokenStart;
    const groups = TOKEN_PATTERN.exec(query)?.groups;
    if (groups === undefined)
      throw analyticsErrors.invalidQuery({
        reason: `syntax error at position ${tokenStart + 1}: ${quoteExcerpt(query.slice(tokenStart))}`,
      });
    const { number, name, string, quoted = groups["ticked"], symbol } = groups;
    const position = { at: tokenStart, end: TOKEN_PATTERN.lastIndex };
    if (number !== undefined) tokens.push({ kind: "number", text: number, ...position });
    else if (name !== undefined) tokens.push({ kind: "name", text: name, ...position });
    else if (string !== undefined) tokens.push({ kind: "string", text: unescape(string), ...position });
    else if (quoted !== undefined) tokens.push({ kind: "name", text: quoted, ...position, quoted: true });
    else if (symbol !== undefined) tokens.push({ kind: "symbol", text: symbol, ...position });
    if (tokens.length > MAX_TOKENS)
      throw analyticsErrors.invalidQuery({ reason: `the query has more than ${MAX_TOKENS} tokens` });
    tokenStart = position.end;
  }
  return [...tokens, { kind: "end", text: "", at: tokenStart, end: tokenStart }];
}

const unescape = (text: string) =>
  text.replace(/\\([^])|''/g, (_, escaped?: string) => (escaped === undefined ? "'" : (ESCAPES[escaped] ?? escaped)));

export const quoteExcerpt = (text: string) => JSON.stringify(text.length > 20 ? `${text.slice(0, 20)}…` : text);
