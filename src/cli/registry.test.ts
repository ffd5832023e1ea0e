import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMON_OPTIONS, type Option, type Options } from "./command.ts";
import { firstPage, groupHelp } from "./help.ts";
import { referencePage } from "./reference.ts";
import { allCommands, NOUNS } from "./registry.ts";

const COMMANDS = await allCommands();

const optionsOf = (options: Options) => Object.entries({ ...options, ...COMMON_OPTIONS } as Record<string, Option>);

test("a command whose name is a prefix of other names takes no arguments, and every group has a description", () => {
  const names = COMMANDS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, arguments: args = [] } of COMMANDS)
    assert.ok(args.length === 0 || !names.some((other) => other.startsWith(`${name} `)), name);
});

test("each group lists exactly the verbs of its commands or, for a single command, that command's summary", async () => {
  for (const { name, summary, verbs, load } of NOUNS) {
    const commands = await load();
    if (verbs === undefined)
      assert.deepEqual(
        commands.map((command) => [command.name, command.summary]),
        [[name, summary]],
      );
    else {
      assert.deepEqual(new Set(commands.map((command) => command.name.split(" ")[0])), new Set([name]));
      assert.deepEqual([...new Set(commands.map((command) => command.name.split(" ")[1]))], verbs);
    }
  }
});

// Options are parsed before the command is known: an option must take a value in all commands or in none, and each
// letter must mean one option.
test("an option has the same type in all commands", () => {
  const kinds = new Map<string, boolean>();
  const letters = new Map<string, string>();
  for (const command of COMMANDS) {
    for (const [name, { type, short }] of optionsOf(command.options)) {
      const takesValue = type !== "boolean";
      assert.equal(kinds.get(name) ?? takesValue, takesValue, `--${name} of ${command.name}`);
      kinds.set(name, takesValue);
      if (short === undefined) continue;
      assert.equal(letters.get(short) ?? name, name, `-${short} of ${command.name}`);
      letters.set(short, name);
    }
  }
});

test("the main help page lists each group on one line, a group's page lists its commands", () => {
  const screen = { width: 80, colour: false };
  const first = firstPage(NOUNS, screen);
  assert.match(first, /^ {2}secret … +secrets of a worker: put, list, delete, bulk$/m);
  assert.ok(!first.includes("secret put"));
  const group = groupHelp(["secret"], COMMANDS, screen, NOUNS);
  assert.match(
    group,
    /^Secrets of a worker\.\n\nUsage\n {2}reelpost secret <command> \[options\]\n\nCommands\n {2}secret put +set a secret\n/,
  );
});

/** Environment variable: regenerates the page. */
const WRITE = "REELPOST_WRITE_DOCS";

test("docs/cli.md matches the command definitions", () => {
  const file = join(import.meta.dirname, "../../docs/cli.md");
  const page = referencePage(COMMANDS);
  if (process.env[WRITE] === "1") writeFileSync(file, page);
  assert.equal(readFileSync(file, "utf8"), page, `regenerate it: ${WRITE}=1 node --test src/cli/registry.test.ts`);
  for (const { name, hidden } of COMMANDS) assert.equal(page.includes(`### \`reelpost ${name}\``), hidden !== true);
});
