import { readFileSync } from "node:fs";

/** A successful system call, in order of completion. `start`: number of calls that had completed when it started. */
export interface Call {
  name: string;
  /** Strings are decoded; other arguments are as strace prints them. */
  args: readonly (string | Buffer)[];
  /** Path of the descriptor in the first argument, or of the returned descriptor. */
  path: string | undefined;
  result: number;
  start: number;
}

/** System calls that change file data or names, or sync them. */
const TRACED = [
  "openat",
  "write",
  "pwrite64",
  "writev",
  "pwritev",
  "pwritev2",
  "ftruncate",
  "truncate",
  "fallocate",
  "fsync",
  "fdatasync",
  "rename",
  "renameat",
  "renameat2",
  "link",
  "linkat",
  "unlink",
  "unlinkat",
  "mkdir",
  "mkdirat",
  "rmdir",
];
/**
 * Makes strace follow threads, print descriptor paths, and encode strings as hex, so that they contain no comma, quote
 * or bracket.
 */
export const STRACE = ["-f", "-y", "-xx", "-s", "16777216", "-e", `trace=${TRACED.join(",")}`, "-e", "signal=none"];

const LINE = /^(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?/;
const decoded = (hex: string): Buffer => Buffer.from(hex.replace(/\\x/g, ""), "hex");
const pathOf = (text: string): string => (text.includes("\\x") ? decoded(text).toString() : text);

export function readTrace(file: string): Call[] {
  const calls: Call[] = [];
  const unfinished = new Map<string, { text: string; start: number }>();
  for (const line of readFileSync(file, "latin1").split("\n")) {
    const [, pid = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const begun = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1];
    if (begun !== undefined) {
      unfinished.set(pid, { text: begun, start: calls.length });
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const before = resumed === undefined ? undefined : unfinished.get(pid);
    const [, name, args = "", result = "-1", returned] =
      LINE.exec(before === undefined ? rest : before.text + resumed) ?? [];
    if (name === undefined || Number(result) < 0) continue;
    const list = args
      .split(/, ?(?![^<]*>)/)
      .map((arg) => (arg.startsWith('"') ? decoded(arg.slice(1, arg.lastIndexOf('"'))) : arg));
    const own = /^-?\w+<(.*)>$/.exec(typeof list[0] === "string" ? list[0] : "")?.[1];
    const path = name === "openat" ? returned : own;
    calls.push({
      name,
      args: list,
      path: path === undefined ? undefined : pathOf(path),
      result: Number(result),
      start: before?.start ?? calls.length,
    });
  }
  return calls;
}
