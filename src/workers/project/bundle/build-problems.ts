import type { BuildFailure, Message } from "esbuild";
import { resolve } from "node:path";
import { type Problem, codeFrame } from "../../../kernel/config/index.ts";
import { nodeModuleFix } from "./platform-modules.ts";

/** Maximum number of messages. esbuild has no limit by default, but users do not read more. */
const MAX_MESSAGES = 50;

export function toProblems(messages: readonly Message[], severity: Problem["severity"], root: string): Problem[] {
  return messages.slice(0, MAX_MESSAGES).map((message) => toProblem(message, severity, root));
}

function toProblem({ text, location, detail }: Message, severity: Problem["severity"], root: string): Problem {
  const fix = fixFor(text, detail);
  const baseProblem =
    fix === undefined ? { severity, message: lowerFirst(text) } : { severity, message: lowerFirst(text), fix };
  if (location === null || location === undefined) return baseProblem;
  // esbuild counts columns and lengths in bytes, and columns from 0.
  const bytes = Buffer.from(location.lineText);
  const columnOffset = bytes.subarray(0, location.column).toString().length;
  const length = bytes.subarray(location.column, location.column + location.length).toString().length;
  return {
    ...baseProblem,
    file: resolve(root, location.file),
    line: location.line,
    column: columnOffset + 1,
    frame: codeFrame(location.lineText, location.line, columnOffset + 1, length),
  };
}

function fixFor(text: string, detail: unknown): string | undefined {
  if (typeof detail === "object" && detail !== null && "fix" in detail) return String(detail.fix);
  const [, missingSpecifier] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  if (missingSpecifier === undefined) return undefined;
  if (/^[./]/.test(missingSpecifier)) return "check the path; it is relative to the importing file";
  return nodeModuleFix(missingSpecifier) ?? `npm install ${packageOf(missingSpecifier)}`;
}

const packageOf = (specifier: string) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
const lowerFirst = (text: string) => (/^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text);

export const isBuildFailure = (err: unknown): err is BuildFailure =>
  err instanceof Error && Array.isArray((err as Partial<BuildFailure>).errors);
