import type { UserError } from "../../../../kernel/index.ts";
import { analyticsErrors } from "../errors.ts";
import { quoteExcerpt, tokenizeQuery, type QueryToken } from "./tokens.ts";

/** Maximum nesting depth of expressions. */
const MAX_DEPTH = 50;

/** Reads the tokens of a query from left to right. */
export interface TokenReader {
  /** True if the next token is this word, ignoring case. */
  peek(word: string): boolean;
  peekSymbol(symbol: string): boolean;
  /** Consumes the words if they come next. */
  take(...words: string[]): boolean;
  takeSymbol(symbol: string): boolean;
  /** Consumes the next token if it is one of the symbols. */
  takeAny(symbols: readonly string[]): string | undefined;
  /** These throw invalidQuery if another token comes next. `description` describes the expected one. */
  expectSymbol(symbol: string): void;
  expectEnd(): void;
  name(description: string): string;
  integer(description: string): number;
  /** Consumes and returns the next token. */
  next(): QueryToken;
  /** Parses items separated by commas. */
  list<Item>(item: () => Item): Item[];
  /** Limits the recursion depth of the parser. */
  nested<Result>(parse: () => Result): Result;
  /** Offsets of the next token and of the end of the previous one. */
  position(): number;
  previousEnd(): number;
  unexpected(expected: string): UserError;
}

export function createReader(query: string): TokenReader {
  const tokens = tokenizeQuery(query);
  let index = 0;
  let depth = 0;
  const token = (lookahead = 0) => tokens[Math.min(index + lookahead, tokens.length - 1)]!;
  const isWord = (word: string, lookahead = 0) => {
    const found = token(lookahead);
    return found.kind === "name" && found.quoted === undefined && found.text.toLowerCase() === word;
  };
  const isSymbol = (symbol: string) => token().kind === "symbol" && token().text === symbol;

  const reader: TokenReader = {
    peek: (word) => isWord(word),
    peekSymbol: isSymbol,
    take(...words) {
      if (!words.every((word, i) => isWord(word, i))) return false;
      index += words.length;
      return true;
    },
    takeSymbol(symbol) {
      if (!isSymbol(symbol)) return false;
      index++;
      return true;
    },
    takeAny(symbols) {
      const found = symbols.find(isSymbol);
      if (found !== undefined) index++;
      return found;
    },
    expectSymbol(symbol) {
      if (!reader.takeSymbol(symbol)) throw reader.unexpected(`"${symbol}"`);
    },
    expectEnd() {
      if (token().kind !== "end") throw reader.unexpected("the end of the query");
    },
    name(description) {
      if (token().kind !== "name") throw reader.unexpected(description);
      return reader.next().text;
    },
    integer(description) {
      const { kind, text } = token();
      const value = Number(text);
      if (kind !== "number" || !Number.isSafeInteger(value)) throw reader.unexpected(description);
      index++;
      return value;
    },
    next: () => tokens[Math.min(index++, tokens.length - 1)]!,
    list(item) {
      const items = [item()];
      while (reader.takeSymbol(",")) items.push(item());
      return items;
    },
    nested(parse) {
      if (++depth > MAX_DEPTH)
        throw analyticsErrors.invalidQuery({ reason: `expressions are nested more than ${MAX_DEPTH} levels deep` });
      try {
        return parse();
      } finally {
        depth--;
      }
    },
    position: () => token().at,
    previousEnd: () => tokens[index - 1]?.end ?? 0,
    unexpected(expected) {
      const { at, kind } = token();
      const found = kind === "end" ? "the end of the query" : quoteExcerpt(query.slice(at));
      return analyticsErrors.invalidQuery({
        reason: `syntax error at position ${at + 1}: expected ${expected}, found ${found}`,
      });
    },
  };
  return reader;
}
