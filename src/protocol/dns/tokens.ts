import { octetsOf } from "./octets.ts";
import { DnsSyntaxError } from "./syntax-error.ts";

/** A word of a master file. */
export interface MasterFileToken {
  /** Octets without quotes and escapes. */
  text: string;
  quoted: boolean;
  /** At least one character was escaped, in which case `@` and `#` are literal and a dot does not separate labels. */
  escaped: boolean;
}

/** One record or directive: a line, or several lines joined by parentheses (RFC 1035 5.1). */
export interface MasterFileEntry {
  /** First line, counted from 1. */
  line: number;
  /** The entry begins with white space and inherits the owner of the previous record. */
  inheritsOwner: boolean;
  tokens: MasterFileToken[];
  /** Last comment on the entry's lines, without the semicolon, as decoded text. */
  comment: string;
}

/** Yields the entries of a master file lazily. Throws DnsSyntaxError with the line number. */
export function* entries(text: string): Generator<MasterFileEntry> {
  let line = 1;
  let depth = 0;
  let openedLine = 0;
  let entry: MasterFileEntry = { line, inheritsOwner: false, tokens: [], comment: "" };
  for (let at = 0; at < text.length;) {
    const char = text[at]!;
    if (char === "\n" || (char === "\r" && text[at + 1] === "\n")) {
      at += char === "\n" ? 1 : 2;
      line++;
      if (depth > 0) continue;
      if (entry.tokens.length > 0) yield entry;
      entry = { line, inheritsOwner: false, tokens: [], comment: "" };
    } else if (char === " " || char === "\t" || char === "\r") {
      if (entry.tokens.length === 0 && depth === 0) entry.inheritsOwner = true;
      at++;
    } else if (char === ";") {
      const end = endOfLine(text, at);
      entry.comment = text.slice(at + 1, end).trim() || entry.comment;
      at = end;
    } else if (char === "(") {
      depth++;
      openedLine = line;
      at++;
    } else if (char === ")") {
      if (--depth < 0) throw toMisplacedError(line, "unexpected closing parenthesis");
      at++;
    } else {
      const { token, end } = runInLine(line, () => readToken(text, at, ENDS_WORD));
      entry.tokens.push(token);
      at = end;
    }
  }
  if (depth > 0) throw toMisplacedError(openedLine, "a parenthesis is not closed");
  if (entry.tokens.length > 0) yield entry;
}

/**
 * Splits standalone record data into words. Semicolons and parentheses are ordinary characters, since there are no
 * lines.
 */
export function splitWords(text: string): MasterFileToken[] {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(text))
    throw new DnsSyntaxError("it contains a control character: write the octet as \\DDD in a quoted string");
  const foundTokens: MasterFileToken[] = [];
  for (let at = 0; at < text.length;) {
    if (text[at] === " " || text[at] === "\t") {
      at++;
      continue;
    }
    const { token, end } = readToken(text, at, ENDS_BARE_WORD);
    foundTokens.push(token);
    at = end;
  }
  return foundTokens;
}

const ENDS_WORD = new Set([" ", "\t", "\n", "\r", ";", "(", ")"]);
const ENDS_BARE_WORD = new Set([" ", "\t"]);

/** Reads a quoted string or a word; quotes within a word are joined to it, as in `alpn="h2,h3"` (RFC 9460 2.1). */
function readToken(text: string, from: number, ends: Set<string>): { token: MasterFileToken; end: number } {
  const isQuoted = text[from] === '"';
  let octets = "";
  let escaped = false;
  let isInQuotes = false;
  let at = from;
  while (at < text.length) {
    const char = text[at]!;
    if (char === '"') {
      isInQuotes = !isInQuotes;
      at++;
      if (isQuoted && !isInQuotes) break;
    } else if (!isInQuotes && ends.has(char)) {
      break;
    } else if (char === "\n") {
      throw new DnsSyntaxError("a quoted string is not closed on its line");
    } else if (char === "\\") {
      const { octet, end } = readEscape(text, at + 1);
      octets += octet;
      escaped = true;
      at = end;
    } else {
      const end = endOfRun(text, at, isInQuotes, ends);
      octets += octetsOf(text.slice(at, end));
      at = end;
    }
  }
  if (isInQuotes) throw new DnsSyntaxError("a quoted string is not closed");
  return { token: { text: octets, quoted: isQuoted, escaped }, end: at };
}

/** Plain characters are read as a run, so that surrogate pairs stay together. */
function endOfRun(text: string, from: number, isInQuotes: boolean, ends: Set<string>): number {
  const isOrdinary = (char: string) =>
    char !== '"' && char !== "\\" && char !== "\n" && (isInQuotes || !ends.has(char));
  let at = from + 1;
  while (at < text.length && isOrdinary(text[at]!)) at++;
  return at;
}

function readEscape(text: string, at: number): { octet: string; end: number } {
  const digits = /^\d{3}/.exec(text.slice(at, at + 3))?.[0];
  if (digits !== undefined) {
    if (Number(digits) > 255) throw new DnsSyntaxError(`\\${digits} is not an octet: the maximum is \\255`);
    return { octet: String.fromCharCode(Number(digits)), end: at + 3 };
  }
  const char = text.codePointAt(at);
  if (char === undefined || char === 10) throw new DnsSyntaxError("there is a backslash at the end");
  if (char >= 48 && char <= 57) throw new DnsSyntaxError("a backslash must be followed by three digits");
  const escapedChar = String.fromCodePoint(char);
  return { octet: octetsOf(escapedChar), end: at + escapedChar.length };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  if (end === -1) return text.length;
  return text[end - 1] === "\r" ? end - 1 : end;
}

function runInLine<Result>(line: number, work: () => Result): Result {
  try {
    return work();
  } catch (err) {
    if (err instanceof DnsSyntaxError) err.line ??= line;
    throw err;
  }
}

const toMisplacedError = (line: number, message: string) => Object.assign(new DnsSyntaxError(message), { line });
