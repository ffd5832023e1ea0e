import { type Problem, errorAt, warningAt } from "../../../kernel/config/index.ts";

export interface DevVar {
  name: string;
  value: string;
  line: number;
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([^\s=:#"'`]+)[ \t]*(?:=|:(?=[ \t]))[ \t]*/;
const NAME = /^[A-Za-z_][\w.-]*$/;

/**
 * Parses the dotenv syntax: `NAME=value`, `export NAME=value`, comments, values in '…', "…" or `…` over several lines.
 * In "…" the pairs \n and \r become line breaks; everywhere else text is literal. An unquoted value ends at `#`. A
 * malformed line is an error; the others are still read. Values are secrets: no message contains one.
 */
export function parseDevVars(file: string, text: string): { vars: DevVar[]; problems: Problem[] } {
  const vars = new Map<string, DevVar>();
  const problems: Problem[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);

  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const number = i + 1;
    if (/^\s*(#|$)/.test(line)) continue;
    const [start, name = ""] = ASSIGNMENT.exec(line) ?? [];
    if (start === undefined || !NAME.test(name)) {
      const place = { file, line: number, column: line.search(/\S/) + 1 };
      problems.push(
        start === undefined
          ? errorAt(place, "this line is not NAME=value", ASSIGNMENT_FIX)
          : errorAt(place, `"${name}" is not a valid name`, NAME_FIX),
      );
      continue;
    }
    const column = start.length + 1;
    const quote = line[start.length];
    let value: string | undefined;
    if (quote === '"' || quote === "'" || quote === "`") {
      const quoted = readQuoted(lines, i, start.length + 1, quote);
      if (quoted === undefined) {
        problems.push(
          errorAt(
            { file, line: number, column },
            `the value of ${name} starts with ${quote} and is not closed`,
            `close it with ${quote}`,
          ),
        );
        continue;
      }
      i = quoted.lastLine;
      if (!/^\s*(#|$)/.test(quoted.rest)) {
        const place = { file, line: i + 1, column: lines[i]!.length - quoted.rest.length + 1 };
        problems.push(
          errorAt(
            place,
            `there is unexpected text after the closing ${quote} of ${name}`,
            "put the whole value in a different kind of quotes, or a # before a comment",
          ),
        );
        continue;
      }
      value =
        quote === '"' ? quoted.value.replaceAll(String.raw`\n`, "\n").replaceAll(String.raw`\r`, "\r") : quoted.value;
    } else {
      value = line.slice(start.length).replace(/#.*$/, "").trim();
    }
    const existingVar = vars.get(name);
    if (existingVar !== undefined)
      problems.push(
        warningAt(
          { file, line: number, column: 1 },
          `${name} is set twice (first on line ${existingVar.line}); the last value is used`,
          "remove one of them",
        ),
      );
    vars.set(name, { name, value, line: number });
  }
  return { vars: [...vars.values()], problems };
}

const ASSIGNMENT_FIX = "write NAME=value; put # before a comment, and quotes around a multi-line value";
const NAME_FIX = "use letters, digits and _, not starting with a digit";

/** As in dotenv, a quote of the same kind after a backslash does not close the value, and the backslash is kept. */
function readQuoted(lines: readonly string[], first: number, column: number, quote: string) {
  let value = "";
  for (let i = first; i < lines.length; i++) {
    const line = lines[i]!;
    let at = i === first ? column : 0;
    const from = at;
    while (at < line.length && line[at] !== quote) at += line[at] === "\\" && line[at + 1] === quote ? 2 : 1;
    value += line.slice(from, at);
    if (at < line.length) return { value, lastLine: i, rest: line.slice(at + 1) };
    value += "\n";
  }
  return undefined;
}
