import {
  type Node,
  type ParseError,
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { TomlDate, TomlError, parse as parseToml } from "smol-toml";
import { messageOf } from "../errors.ts";
import { type Path, type Problem, errorAt, warningAt } from "./problems.ts";
import { tomlPositions } from "./toml-positions.ts";

interface DocumentPlace {
  file: string;
  line: number;
  column: number;
}

/** A parsed configuration file: its value, and the position of each element. */
export interface ConfigDocument {
  file: string;
  syntax: "json" | "toml";
  text: string;
  /** Undefined if the text cannot be parsed; `problems` has the reason. */
  value: unknown;
  problems: Problem[];
  /**
   * Returns the position of the value at `path`, or of its name. For a missing path, the position of the closest
   * enclosing element.
   */
  locate(path: Path, part?: "name" | "value"): DocumentPlace;
}

/** Configuration files are written by hand; anything longer is a mistake. */
const MAX_DOCUMENT_LENGTH = 1024 * 1024;

/**
 * Parses JSON with comments and trailing commas, or TOML if the name ends in `.toml`. Never throws: errors are in
 * `problems`.
 */
export function parseDocument(file: string, text: string): ConfigDocument {
  // Editors hide a byte order mark, and neither parser accepts it.
  const withoutBom = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const syntax = file.endsWith(".toml") ? "toml" : "json";
  if (withoutBom.length > MAX_DOCUMENT_LENGTH)
    return createBrokenDocument(
      file,
      withoutBom,
      syntax,
      `the file is ${withoutBom.length} characters long; the maximum is ${MAX_DOCUMENT_LENGTH}`,
    );
  try {
    return syntax === "toml" ? parseTomlDocument(file, withoutBom) : parseJsonDocument(file, withoutBom);
  } catch (thrown) {
    if (thrown instanceof RangeError)
      return createBrokenDocument(file, withoutBom, syntax, "the values are nested too deeply");
    throw thrown;
  }
}

function createBrokenDocument(
  file: string,
  text: string,
  syntax: ConfigDocument["syntax"],
  message: string,
): ConfigDocument {
  const start = { file, line: 1, column: 1 };
  return { file, text, syntax, value: undefined, problems: [errorAt(start, message)], locate: () => start };
}

function parseJsonDocument(file: string, text: string): ConfigDocument {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, disallowComments: false });
  const at = placesIn(file, text);
  const problems = firstOfEachLine(errors.map((error) => errorAt(at(error.offset), ...jsonError(error))));
  if (tree === undefined && problems.length === 0)
    problems.push(errorAt(at(0), "the file is empty", "write a JSON object: { … }"));
  if (tree !== undefined && errors.length === 0) problems.push(...findRepeatedNames(tree, at));
  return {
    file,
    text,
    syntax: "json",
    value: errors.length > 0 || tree === undefined ? undefined : getNodeValue(tree),
    problems,
    locate: (path, part = "value") => at(tree === undefined ? 0 : jsonOffset(tree, path, part)),
  };
}

function jsonOffset(tree: Node, path: Path, part: "name" | "value"): number {
  for (let end = path.length; end >= 0; end--) {
    const node = findNodeAtLocation(tree, path.slice(0, end));
    if (node === undefined) continue;
    // For an enclosing element, the position of its start.
    if (part === "name" && end === path.length && node.parent?.type === "property") return node.parent.offset;
    return node.offset;
  }
  return tree.offset;
}

/** After an error the parser continues and reports the same position again; the first error is the real one. */
const firstOfEachLine = (problems: Problem[]) =>
  problems.filter((problem, i) => problem.line !== problems[i - 1]?.line);

/** The parser's messages name tokens; these messages say what to type. */
const JSON_ERRORS: Record<string, [message: string, fix?: string]> = {
  InvalidSymbol: ["this is not JSON", 'put text in double quotes: "text"'],
  InvalidNumberFormat: ["this is not a number"],
  PropertyNameExpected: ["a field name is missing here", 'put field names in double quotes: "name"'],
  ValueExpected: ["a value is missing here"],
  ColonExpected: ["a colon is missing here", 'write "name": value'],
  CommaExpected: ["a comma is missing here"],
  CloseBraceExpected: ["a closing brace is missing: }"],
  CloseBracketExpected: ["a closing bracket is missing: ]"],
  EndOfFileExpected: ["there is unexpected text after the configuration", "remove everything after the last }"],
  UnexpectedEndOfString: ["the string is not closed", 'close it with "; write a line break inside as \\n'],
  UnexpectedEndOfComment: ["the comment is not closed", "close it with */"],
  InvalidEscapeCharacter: ["this is not a valid JSON escape", String.raw`write a backslash as \\`],
};

function jsonError({ error }: ParseError): [message: string, fix?: string] {
  const name = printParseErrorCode(error);
  return JSON_ERRORS[name] ?? [`invalid JSON (${name})`];
}

/** JSON parsers silently keep the last of two duplicate names; report them. */
function findRepeatedNames(node: Node, at: (offset: number) => DocumentPlace): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const child of node.children ?? []) {
    if (node.type === "object") {
      const name = String(child.children?.[0]?.value);
      if (seen.has(name))
        problems.push(
          warningAt(at(child.offset), `duplicate field "${name}"; the last one is used`, "remove one of them"),
        );
      seen.add(name);
    }
    problems.push(...findRepeatedNames(child, at));
  }
  return problems;
}

function parseTomlDocument(file: string, text: string): ConfigDocument {
  const at = placesIn(file, text);
  try {
    const value = toPlainDates(parseToml(text));
    const positions = tomlPositions(text);
    const locate: ConfigDocument["locate"] = (path, part = "value") => {
      for (let end = path.length; end > 0; end--) {
        const foundPosition = positions(path.slice(0, end));
        if (foundPosition !== undefined)
          return at(part === "name" || end < path.length ? foundPosition.name : foundPosition.value);
      }
      return at(0);
    };
    return { file, text, syntax: "toml", value, problems: [], locate };
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    // The first line is the message; a code excerpt follows it.
    const message = messageOf(thrown).split("\n")[0]!.replace("Invalid TOML document: ", "invalid TOML: ");
    const place = { file, line: thrown.line, column: thrown.column };
    return { file, text, syntax: "toml", value: undefined, problems: [errorAt(place, message)], locate: () => place };
  }
}

/** TOML has date values, but an unquoted `compatibility_date = 2026-11-20` is meant as text. */
function toPlainDates(value: unknown): unknown {
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) return value.map(toPlainDates);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toPlainDates(member)]));
  return value;
}

function placesIn(file: string, text: string): (offset: number) => DocumentPlace {
  const starts = [0];
  for (let i = text.indexOf("\n"); i !== -1; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - starts[low]! + 1 };
  };
}
