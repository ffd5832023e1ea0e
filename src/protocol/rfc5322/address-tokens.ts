/**
 * Lexical tokens of address fields (RFC 5322 3.2). White space and comments are dropped; `spaced` means that white
 * space or a comment preceded the token.
 */
export interface AddressToken {
  kind: "atom" | "quoted" | "literal" | "<" | ">" | "@" | "," | ";" | ":" | ".";
  /** Value of the token: without quotes and escapes for "quoted", with brackets for "literal". */
  text: string;
  spaced: boolean;
}

const SPECIALS = new Set(["<", ">", "@", ",", ";", ":", "."]);
const SPACE = new Set([" ", "\t", "\r", "\n"]);
const MAX_COMMENT_DEPTH = 50;

/**
 * Splits an address field into tokens in linear time. Undefined for an unclosed quote, comment or literal, or a
 * character that is not allowed in an address field.
 */
export function tokenize(text: string): AddressToken[] | undefined {
  const tokens: AddressToken[] = [];
  let hasSpace = false;
  for (let at = 0; at < text.length;) {
    const char = text[at]!;
    if (SPACE.has(char)) {
      hasSpace = true;
      at++;
      continue;
    }
    if (char === "(") {
      const end = skipComment(text, at);
      if (end === undefined) return undefined;
      hasSpace = true;
      at = end;
      continue;
    }
    const tokenResult = readToken(text, at, char);
    if (!tokenResult) return undefined;
    tokens.push({ kind: tokenResult.kind, text: tokenResult.text, spaced: hasSpace });
    hasSpace = false;
    at = tokenResult.end;
  }
  return tokens;
}

function readToken(
  text: string,
  at: number,
  char: string,
): { kind: AddressToken["kind"]; text: string; end: number } | undefined {
  if (char === '"') return readQuoted(text, at);
  if (char === "[") return readLiteral(text, at);
  if (SPECIALS.has(char)) return { kind: char as AddressToken["kind"], text: char, end: at + 1 };
  let end = at;
  while (end < text.length && isAtomChar(text.charCodeAt(end))) end++;
  return end === at ? undefined : { kind: "atom", text: text.slice(at, end), end };
}

const NOT_IN_ATOMS = new Set([...'()<>[]:;@\\,."'].map((char) => char.charCodeAt(0)));

/**
 * Includes all printable characters except specials; RFC 6532 adds non-ASCII UTF-8, from which the C1 controls are
 * excluded here.
 */
const isAtomChar = (code: number) =>
  code > 0x20 && code !== 0x7f && !(code >= 0x80 && code <= 0x9f) && !NOT_IN_ATOMS.has(code);

function readQuoted(text: string, openIndex: number): { kind: "quoted"; text: string; end: number } | undefined {
  let value = "";
  let from = openIndex + 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') return { kind: "quoted", text: value + text.slice(from, at), end: at + 1 };
    if (char === "\r" || char === "\n" || char === "\0") return undefined;
    if (char === "\\") {
      value += text.slice(from, at);
      from = ++at;
      if (at < text.length && (text.charCodeAt(at) < 0x20 || text.charCodeAt(at) === 0x7f)) return undefined;
    }
  }
  return undefined;
}

function readLiteral(text: string, openIndex: number): { kind: "literal"; text: string; end: number } | undefined {
  const closeIndex = text.indexOf("]", openIndex);
  if (closeIndex === -1) return undefined;
  return { kind: "literal", text: text.slice(openIndex, closeIndex + 1), end: closeIndex + 1 };
}

/** Comments can be nested (RFC 5322 3.2.2). */
function skipComment(text: string, openIndex: number): number | undefined {
  let depth = 0;
  for (let at = openIndex; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\") at++;
    else if (char === "(" && ++depth > MAX_COMMENT_DEPTH) return undefined;
    else if (char === ")" && --depth === 0) return at + 1;
  }
  return undefined;
}
