import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** Kinds of text, by who reads them. */
type Kind = "errors" | "logs" | "cli" | "docs" | "comments" | "tests";

export interface Text {
  kind: Kind;
  file: string;
  line: number;
  text: string;
}

const LOG_LEVEL = /(?:^|\.)log\??\.(?:trace|debug|info|warn|error|fatal)$/;
const TEST = /^(?:test|it|describe|suite)(?:\.(?:skip|only))?$|^t\.test$/;
/** Fields of commands, options, arguments and settings that users read. */
const HELP_FIELDS = new Set(["summary", "description"]);

/** Returns the texts of a source file: comments, test names, log messages, error tables, command help. */
export function textsOfSource(root: string, file: string): { texts: Text[]; names: Set<string> } {
  const source = readFileSync(join(root, file), "utf8");
  const { program, comments } = parseSync(file, source);
  const texts: Text[] = [];
  const names = new Set<string>();
  const lineOf = lineCounter(source);
  const add = (kind: Kind, text: string, at: number) => void texts.push({ kind, file, line: lineOf(at), text });
  const strings = (node: unknown): { text: string; at: number }[] => stringsIn(node);

  for (const { value, start } of joinLines(comments, source)) add("comments", plainComment(value), start);
  new Visitor({
    CallExpression(node) {
      const callee = source.slice(node.callee.start, node.callee.end);
      if (LOG_LEVEL.test(callee))
        for (const argument of node.arguments)
          if (argument.type !== "ObjectExpression") for (const { text, at } of strings(argument)) add("logs", text, at);
      if (TEST.test(callee)) for (const { text, at } of strings(node.arguments[0])) add("tests", text, at);
      if (callee === "defineErrors") for (const { text, at } of strings(node.arguments[1])) add("errors", text, at);
    },
    Property(node) {
      if (node.key.type !== "Identifier" || !HELP_FIELDS.has(node.key.name)) return;
      if (!file.startsWith("src/cli/") && file !== "src/kernel/settings.ts" && !file.endsWith("-settings.ts")) return;
      for (const { text, at } of strings(node.value)) add("cli", text, at);
    },
    Identifier(node) {
      names.add(node.name);
    },
  }).visit(program);
  return { texts, names };
}

/** Returns the prose of a Markdown page: without code blocks, code spans and link targets. */
export function textsOfPage(root: string, file: string): Text[] {
  let inCode = false;
  return readFileSync(join(root, file), "utf8")
    .split("\n")
    .flatMap((line, index) => {
      if (/^\s*```/.test(line)) {
        inCode = !inCode;
        return [];
      }
      const text = line.replace(/`[^`]*`/g, "`…`").replace(/\]\([^)]*\)/g, "]");
      return inCode || text.trim() === "" ? [] : [{ kind: "docs" as const, file, line: index + 1, text }];
    });
}

function stringsIn(node: unknown): { text: string; at: number }[] {
  if (typeof node !== "object" || node === null) return [];
  if (Array.isArray(node)) return node.flatMap(stringsIn);
  const { type, value, start, quasis, key: _key, ...children } = node as Record<string, unknown> & { type?: string };
  if (type === "Literal") return typeof value === "string" ? [{ text: value, at: start as number }] : [];
  if (type === "TemplateLiteral") {
    const parts = (quasis as { value: { cooked: string } }[]).map((quasi) => quasi.value.cooked);
    return [{ text: parts.join("…"), at: start as number }];
  }
  return [...Object.values(children), ...(type === "Property" ? [value] : [])].flatMap(stringsIn);
}

interface Comment {
  type: "Line" | "Block";
  value: string;
  start: number;
  end: number;
}

/** Joins `//` comments on consecutive lines. */
function joinLines(comments: readonly Comment[], source: string): Comment[] {
  const joined: Comment[] = [];
  for (const comment of comments) {
    const last = joined.at(-1);
    if (last?.type === "Line" && comment.type === "Line" && /^\n[ \t]*$/.test(source.slice(last.end, comment.start)))
      joined[joined.length - 1] = { ...last, value: `${last.value}\n${comment.value}`, end: comment.end };
    else joined.push(comment);
  }
  return joined;
}

const plainComment = (value: string): string =>
  value
    .replace(/^\*/, "")
    .replace(/\n\s*\*? ?/g, " ")
    .replace(/`[^`]*`/g, "`…`")
    .trim();

function lineCounter(source: string): (offset: number) => number {
  const starts = [0];
  for (const { index } of source.matchAll(/\n/g)) starts.push(index + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}
