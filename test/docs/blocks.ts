/** A fenced block in a page that the test run acts on. */
export type Block =
  | { kind: "run"; line: number; text: string }
  | { kind: "server"; line: number; text: string }
  | { kind: "file"; line: number; text: string; path: string }
  | { kind: "output"; line: number; text: string; of: "commands" | "server" };

/**
 * The info string of a fence declares its purpose:
 *
 *     sh                  commands that are run and must succeed
 *     sh fails            commands that are run and must fail
 *     sh server           a command that keeps running until the end of the page
 *     ts src/index.ts     (any language, then a path with a dot) a file that is written before the next commands run
 *     console             output of the preceding commands; … matches anything
 *     console server      output of the server since the last such block
 *     anything else       only displayed
 *
 * In files and commands, a line containing … is replaced by the last matching line printed earlier, as a reader would
 * copy it from the output.
 */
export function blocksOf(page: string): (Block & { fails?: boolean })[] {
  const blocks: (Block & { fails?: boolean })[] = [];
  for (const { info, text, line } of fences(page)) {
    const [language, argument] = info.split(/\s+/) as [string, string?];
    if (language === "sh" && argument === "server") blocks.push({ kind: "server", line, text });
    else if (language === "sh" && (argument === undefined || argument === "fails"))
      blocks.push({ kind: "run", line, text, ...(argument ? { fails: true } : {}) });
    else if (language === "console")
      blocks.push({ kind: "output", line, text, of: argument === "server" ? "server" : "commands" });
    else if (argument?.includes(".")) blocks.push({ kind: "file", line, text, path: argument });
    else if (language === "sh") throw new Error(`line ${line}: "${info}" is not a known block type`);
  }
  return blocks;
}

function* fences(page: string): Generator<{ info: string; text: string; line: number }> {
  let open: { info: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of page.split("\n").entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { info: fence[1]!.trim(), line: index + 1, lines: [] };
    else {
      yield { info: open.info, text: `${open.lines.join("\n")}\n`, line: open.line };
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`line ${open.line}: the block is never closed`);
}

/**
 * True if `output` contains the expected lines contiguously, ignoring indentation; … matches any text, and on a line of
 * its own any lines.
 */
export function matches(output: string, expected: string): boolean {
  const lines = expected.trim().split("\n");
  const pattern = lines
    .map((line) =>
      line.trim() === "…"
        ? String.raw`(?:[^\n]*\n)*?`
        : `[ \\t]*${line.trim().split("…").map(escape).join("[^\\n]*")}[ \\t]*\\n`,
    )
    .join("");
  return new RegExp(`(?:^|\\n)${pattern}`).test(`${output.replaceAll("\r", "").trimEnd()}\n`);
}

/**
 * Returns `text` with each line that contains … replaced by the last matching line in `printed`; indentation and a
 * trailing comma are ignored.
 */
export function fillIn(text: string, printed: string): string {
  return text
    .split("\n")
    .map((line) => (line.includes("…") ? copied(line, printed) : line))
    .join("\n");
}

function copied(line: string, printed: string): string {
  const [, indentation, wanted, comma] = /^(\s*)(.*?)(,?)$/.exec(line)!;
  const pattern = new RegExp(`^[ \\t]*(${wanted!.split("…").map(escape).join("[^\\n]+")}),?[ \\t]*$`, "gm");
  const found = [...printed.replaceAll("\r", "").matchAll(pattern)].at(-1);
  if (found === undefined) throw new Error(`no earlier output matches "${wanted}":\n${printed}`);
  return `${indentation}${found[1]}${comma}`;
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
