import type { Path } from "./problems.ts";

/** Offsets of an element's name and value. For a table with a header, both are the header's offset. */
interface TomlPosition {
  name: number;
  value: number;
}

/**
 * Returns the position of each value in a TOML text, because the parser returns only values. The text must be valid:
 * this scanner follows the grammar without validating it. TOML v1.0.0.
 */
export function tomlPositions(text: string): (path: Path) => TomlPosition | undefined {
  const positionsByKey = new Map<string, TomlPosition>();
  const lengths = new Map<string, number>();
  let at = 0;

  const note = (path: Path, name: number, value: number) => {
    const key = keyOf(path);
    if (!positionsByKey.has(key)) positionsByKey.set(key, { name, value });
  };

  const skip = (...classes: RegExp[]) => {
    for (let hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (const pattern of classes) {
        pattern.lastIndex = at;
        const length = pattern.exec(text)?.[0].length ?? 0;
        if (length > 0) [at, hasMoved] = [at + length, true];
      }
    }
  };
  const skipBlank = () => skip(/[ \t]+/y);
  const skipLines = () => skip(/[ \t\r\n]+/y, /#[^\n]*/y);

  function word(): string {
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      const start = at;
      skipText();
      const inner = text.slice(start + 1, at - 1);
      return quote === "'" ? inner : unescape(inner);
    }
    const start = at;
    skip(/[A-Za-z0-9_-]+/y);
    return text.slice(start, at);
  }

  function dottedKey(): string[] {
    const words = [word()];
    for (skipBlank(); text[at] === "."; skipBlank()) {
      at++;
      skipBlank();
      words.push(word());
    }
    return words;
  }

  function skipText() {
    const quote = text[at]!;
    const long = text.startsWith(quote.repeat(3), at);
    at += long ? 3 : 1;
    while (at < text.length) {
      if (quote === '"' && text[at] === "\\") at += 2;
      else if (!long && text[at] === quote) return void at++;
      else if (long && text.startsWith(quote.repeat(3), at)) {
        // Up to two quotes may precede the closing three.
        while (text[at] === quote) at++;
        return;
      } else at++;
    }
  }

  function value(path: Path) {
    const first = text[at];
    if (first === '"' || first === "'") skipText();
    else if (first === "[") array(path);
    else if (first === "{") inlineTable(path);
    else skip(/[^,\]}\r\n#]+/y);
  }

  function array(path: Path) {
    at++;
    skipLines();
    for (let index = 0; at < text.length && text[at] !== "]"; index++) {
      note([...path, index], at, at);
      value([...path, index]);
      skipLines();
      if (text[at] === ",") at++;
      skipLines();
    }
    at++;
  }

  function inlineTable(path: Path) {
    at++;
    skipLines();
    while (at < text.length && text[at] !== "}") {
      pair(path);
      skipLines();
      if (text[at] === ",") at++;
      skipLines();
    }
    at++;
  }

  function pair(table: Path) {
    const name = at;
    const words = dottedKey();
    skipBlank();
    at++; // Skips the `=`.
    skipBlank();
    for (let end = 1; end < words.length; end++) note([...table, ...words.slice(0, end)], name, name);
    const path = [...table, ...words];
    note(path, name, at);
    value(path);
  }

  /** A header refers to an array of tables by name and means its last element. */
  function header(): Path {
    const start = at;
    const isElement = text.startsWith("[[", at);
    at += isElement ? 2 : 1;
    skipBlank();
    const words = dottedKey();
    const path: (string | number)[] = [];
    for (const [i, name] of words.entries()) {
      path.push(name);
      note(path, start, start);
      const key = keyOf(path);
      if (isElement && i === words.length - 1) lengths.set(key, (lengths.get(key) ?? 0) + 1);
      const length = lengths.get(key);
      if (length === undefined) continue;
      path.push(length - 1);
      note(path, start, start);
    }
    skip(/[^\n#]+/y);
    return path;
  }

  let table: Path = [];
  for (skipLines(); at < text.length; skipLines()) {
    if (text[at] === "[") table = header();
    else pair(table);
  }
  return (path) => positionsByKey.get(keyOf(path));
}

const keyOf = (path: Path) => JSON.stringify(path);

const SHORT_ESCAPES: Record<string, string> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001B" };

const unescape = (text: string) =>
  text.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))/gs,
    (_, u?: string, long?: string, x?: string, shortEscape?: string) =>
      shortEscape === undefined
        ? String.fromCodePoint(Number.parseInt((u ?? long ?? x)!, 16))
        : (SHORT_ESCAPES[shortEscape] ?? shortEscape),
  );
