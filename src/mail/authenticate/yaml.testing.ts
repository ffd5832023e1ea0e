/**
 * The subset of YAML used by the published suites for SPF and ARC: block mappings and sequences, flow sequences, plain,
 * quoted and block scalars, comments, several documents. A duplicate key overwrites the previous value: the ARC suite
 * repeats some. There are no types: every scalar is text.
 */
export type Yaml = string | Yaml[] | { [key: string]: Yaml };

interface Reader {
  lines: string[];
  at: number;
}

export function readYaml(text: string): Yaml[] {
  const documents: string[][] = [[]];
  for (const line of text.split("\n")) {
    if (/^---\s*$/.test(line)) documents.push([]);
    else documents.at(-1)!.push(line);
  }
  return documents.flatMap((lines) => {
    const reader = { lines, at: 0 };
    return skipBlank(reader) ? [readNode(reader, indentOf(reader))] : [];
  });
}

const indentOf = ({ lines, at }: Reader) => /^ */.exec(lines[at]!)![0].length;

/** Returns true if there is more input. */
function skipBlank(reader: Reader): boolean {
  while (reader.at < reader.lines.length && /^\s*(?:#.*)?$/.test(reader.lines[reader.at]!)) reader.at++;
  return reader.at < reader.lines.length;
}

function readNode(reader: Reader, indent: number): Yaml {
  const line = reader.lines[reader.at]!.slice(indent);
  if (/^-(?: |$)/.test(line)) return readSequence(reader, indent);
  return KEY.test(line) ? readMapping(reader, indent) : readScalar(reader, line, indent);
}

const KEY = /^("[^"]*"|'[^']*'|[^\s#"'[{][^:]*?|[^\s#"'[{][^\s]*):(?:\s+(.*))?$/;

function readMapping(reader: Reader, indent: number): Yaml {
  const found: { [key: string]: Yaml } = {};
  while (skipBlank(reader) && indentOf(reader) === indent) {
    const [, key, rest = ""] = KEY.exec(reader.lines[reader.at]!.slice(indent)) ?? fail(reader);
    found[key!.replace(/^(["'])(.*)\1$/, "$2")] = readValue(reader, rest, indent);
  }
  return found;
}

function readSequence(reader: Reader, indent: number): Yaml {
  const found: Yaml[] = [];
  while (skipBlank(reader) && indentOf(reader) === indent && /^-(?: |$)/.test(reader.lines[reader.at]!.slice(indent))) {
    const line = reader.lines[reader.at]!;
    const inner = line.slice(indent + 1);
    const deeper = indent + 1 + /^ */.exec(inner)![0].length;
    if (KEY.test(inner.trimStart())) {
      // "- key: value": a mapping that begins after the dash.
      reader.lines[reader.at] = " ".repeat(deeper) + inner.trimStart();
      found.push(readMapping(reader, deeper));
    } else found.push(readValue(reader, inner.trimStart(), indent));
  }
  return found;
}

/** Returns the value after `key:` or `-`, on the same line or below it. */
function readValue(reader: Reader, rest: string, indent: number): Yaml {
  if (/^[|>][+-]?\s*$/.test(rest)) return readBlock(reader, rest.trim(), indent);
  if (rest === "" || rest.startsWith("#")) {
    reader.at++;
    const more =
      skipBlank(reader) &&
      (indentOf(reader) > indent ||
        (indentOf(reader) === indent && /^-(?: |$)/.test(reader.lines[reader.at]!.slice(indent))));
    return more ? readNode(reader, indentOf(reader)) : "";
  }
  return readScalar(reader, rest, indent);
}

/** Returns a literal (`|`) or folded (`>`) block: all lines with deeper indentation. */
function readBlock(reader: Reader, style: string, indent: number): string {
  const block: string[] = [];
  let inner: number | undefined;
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!;
    if (line.trim() !== "" && indentOf(reader) <= indent) break;
    if (line.trim() !== "") inner ??= indentOf(reader);
    block.push(line);
  }
  const cut = block.map((line) => line.slice(inner ?? 0));
  const text = (
    style[0] === "|"
      ? cut.join("\n")
      : cut
          .join("\n")
          .trimEnd()
          .replace(/([^\n])\n(?=[^\n\s])/g, "$1 ")
          .replace(/\n\n/g, "\n")
  ).replace(/\n+$/, "");
  return style.endsWith("-") || text === "" ? text : `${text}\n`;
}

function readScalar(reader: Reader, first: string, indent: number): Yaml {
  let text = first;
  // Quoted and flow values continue until they are closed, plain values while lines are indented.
  const isOpen = () =>
    /^["']/.test(text) ? closing(text) === -1 : text.startsWith("[") && !text.trimEnd().endsWith("]");
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!;
    const goesOn = /^["'[]/.test(first)
      ? isOpen()
      : line.trim() !== "" && indentOf(reader) > indent && !/^\s*#/.test(line);
    if (!goesOn) break;
    text += ` ${line.trim()}`;
  }
  return value(text.trim());
}

function value(text: string): Yaml {
  if (text.startsWith("["))
    return [
      ...text.slice(1, text.lastIndexOf("]")).matchAll(/\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+)\s*(?:,|$)/g),
    ].map(([, item]) => value(item!.trim()));
  if (text.startsWith("'")) return text.slice(1, closing(text)).replaceAll("''", "'");
  if (text.startsWith('"')) return unescape(text.slice(1, closing(text)));
  return text.replace(/\s+#.*$/, "").trim();
}

function closing(text: string): number {
  const match = (text.startsWith("'") ? /^'(?:[^']|'')*'/ : /^"(?:[^"\\]|\\.)*"/).exec(text);
  return match === null ? -1 : match[0].length - 1;
}

const ESCAPES: Record<string, string> = {
  n: "\n",
  r: "\r",
  t: "\t",
  "0": "\0",
  b: "\b",
  "\\": "\\",
  '"': '"',
  " ": " ",
};
const unescape = (text: string) =>
  text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  );

function fail({ lines, at }: Reader): never {
  throw new Error(`line ${at + 1} cannot be parsed: ${lines[at]}`);
}
