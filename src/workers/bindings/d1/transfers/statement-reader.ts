import { createStatementEndDetector, tokenAt } from "../sql-tokens.ts";

export interface ReadStatement {
  sql: string;
  /** Line of the statement's first word in the whole text, from 1. */
  line: number;
}

/** Splits SQL that arrives in chunks at its semicolons and buffers only the incomplete statement. */
interface StatementReader {
  /** Returns the statements that end within the text read so far. Throws StatementTooLong. */
  read(piece: string): Generator<ReadStatement>;
  /** Returns the last statement, if it is not terminated. */
  end(): Generator<ReadStatement>;
}

export class StatementTooLong extends Error {
  readonly line: number;
  constructor(line: number) {
    super("statement too long: SQLITE_TOOBIG");
    this.line = line;
  }
}

/** `maxLength`: maximum characters of one statement. */
export function createStatementReader(maxLength: number): StatementReader {
  const isEnd = createStatementEndDetector();
  let text = "";
  /** The text before this index has been tokenized. */
  let at = 0;
  /** Start of the current statement. */
  let first: number | undefined;
  /** Line of the first character of `text`. */
  let line = 1;

  function* scan(whole: boolean): Generator<ReadStatement> {
    for (let token = tokenAt(text, at); token !== undefined; token = tokenAt(text, at)) {
      const end = at + token.text.length;
      // A token that touches the end may continue in the next chunk: a word, a quote, the `-` of a comment.
      if (end === text.length && !whole) break;
      if (token.kind !== undefined) {
        if (isEnd(token.text)) {
          if (first !== undefined) yield { sql: text.slice(first, at), line: line + countLines(text, 0, first) };
          first = undefined;
        } else first ??= at;
      }
      at = end;
    }
    forget();
  }

  function forget() {
    const from = first ?? at;
    line += countLines(text, 0, from);
    text = text.slice(from);
    at -= from;
    if (first !== undefined) first = 0;
    else shorten();
    if (text.length > maxLength) throw new StatementTooLong(line);
  }

  /** Reduces a comment between statements to its kind, and a final star that may begin the end of the comment. */
  function shorten() {
    const opening = text.slice(0, 2);
    if (text.length < 4 || (opening !== "/*" && opening !== "--")) return;
    line += countLines(text, 0, text.length);
    if (opening === "--") text = opening;
    else text = text.endsWith("*/") ? " " : text.endsWith("*") ? "/**" : opening;
  }

  return {
    *read(piece) {
      text += piece;
      yield* scan(false);
    },
    *end() {
      yield* scan(true);
      if (first !== undefined) yield { sql: text, line };
      text = "";
      first = undefined;
    },
  };
}

function countLines(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = text.indexOf("\n", from); at !== -1 && at < to; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
