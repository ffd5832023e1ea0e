import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { type Command, defineCommand } from "./command.ts";
import { completionScript } from "./completion-script.ts";
import { allCommands } from "./registry.ts";

const COMMANDS = await allCommands();

const run = async () => 0;
const ghost = defineCommand({ name: "ghost", summary: "it's hidden", options: {}, examples: [], hidden: true, run });
const all: Command[] = [...COMMANDS, ghost];
const heads = [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0]!))];

/** Completions of bash for the last word of the line. */
async function offers(...words: string[]): Promise<string[]> {
  const cwd = await mkdtemp(join(tmpdir(), "reelpost-completion-"));
  try {
    await mkdir(join(cwd, "afolder"));
    const line = words.map((word) => `'${word}'`).join(" ");
    const script = `${completionScript("bash", all)}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _reelpost; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-c", script], { cwd });
    return stdout
      .split("\n")
      .filter((word) => word !== "")
      .sort();
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

test("bash completes commands, options, choices and files", async () => {
  assert.deepEqual(
    await offers("reelpost", ""),
    ["--help", "--json", "--no-color", "--version", "-h", "-v", ...heads].sort(),
  );
  assert.deepEqual(await offers("reelpost", "ty"), ["types"]);
  assert.deepEqual(
    await offers("reelpost", "secret", ""),
    ["--help", "--json", "--no-color", "--version", "-h", "-v", "bulk", "delete", "list", "put"].sort(),
  );
  assert.deepEqual(await offers("reelpost", "kv", "key", "put", "--tt"), ["--ttl"]);
  assert.deepEqual(await offers("reelpost", "kv", "na"), ["namespace"]);
  assert.deepEqual(await offers("reelpost", "email", "log", ""), ["get", "raw", "replay"]);
  assert.deepEqual(await offers("reelpost", "email", "log", "--fo"), ["--follow"]);
  assert.deepEqual(await offers("reelpost", "tail", "--status", "e"), ["error"]);
  assert.deepEqual(await offers("reelpost", "dev", "--smtp"), ["--smtp-port"]);
  assert.deepEqual(await offers("reelpost", "init", "--template", ""), ["blank", "forwarder", "inbox"]);
  assert.deepEqual(await offers("reelpost", "init", "--template", "=", "in"), ["inbox"]);
  assert.deepEqual(await offers("reelpost", "init", "x", "-t", "f"), ["forwarder"]);
  assert.deepEqual(await offers("reelpost", "completion", ""), ["bash", "fish", "zsh"]);
  assert.deepEqual(await offers("reelpost", "init", "a"), ["afolder"]);
  assert.deepEqual(await offers("reelpost", "dev", "--port", ""), []);
  assert.deepEqual(await offers("reelpost", "gh"), []);
});

test("every shell's script includes every command and option", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    const script = completionScript(shell, COMMANDS);
    for (const { name, options } of COMMANDS)
      for (const word of [name, ...Object.keys(options)]) assert.ok(script.includes(word), `${shell}: ${word}`);
  }
});
