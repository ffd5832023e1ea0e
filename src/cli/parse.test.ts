import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type Command, defineCommand } from "./command.ts";
import { parseCommandLine } from "./parse.ts";

const run = async () => 0;
const COMMANDS: Command[] = [
  defineCommand({
    name: "serve",
    summary: "serve",
    arguments: [
      { name: "dir", summary: "the folder", required: true },
      { name: "mode", summary: "how", choices: ["fast", "slow"] },
    ],
    options: {
      config: { type: "string", short: "c", summary: "file", multiple: true, placeholder: "file" },
      port: { type: "number", short: "p", summary: "port", min: 1, max: 65_535 },
      level: { type: "string", summary: "level", choices: ["low", "high"] },
      secret: { type: "boolean", summary: "hidden", hidden: true },
    },
    examples: [],
    run,
  }),
  defineCommand({
    name: "key put",
    summary: "put",
    options: { ttl: { type: "number", summary: "seconds" } },
    examples: [],
    run,
  }),
  defineCommand({ name: "key list", summary: "list", options: {}, examples: [], run }),
];

const parse = (line: string) =>
  parseCommandLine(
    line.split(" ").filter((word) => word !== ""),
    COMMANDS,
  );
const errors = (line: string) => parse(line).errors.map(({ message, fix }) => `${message} ${fix}`);

test("accepts options in every syntax, before and after the command", () => {
  const {
    command,
    args,
    values,
    errors: wrong,
  } = parse("--json serve -c a.json site --config=b.json -p 80 --level high fast");
  assert.deepEqual([command?.name, args, wrong], ["serve", ["site", "fast"], []]);
  assert.deepEqual(
    { ...values },
    {
      config: ["a.json", "b.json"],
      port: 80,
      level: "high",
      secret: undefined,
      json: true,
      "no-color": undefined,
      help: undefined,
      version: undefined,
    },
  );
  assert.deepEqual(parse("serve -- --odd").args, ["--odd"]);
});

test("parses commands of several words", () => {
  assert.equal(parse("key put --ttl 5").command?.name, "key put");
  const group = parse("key");
  assert.deepEqual([group.command, group.words, group.errors], [undefined, ["key"], []]);
  assert.deepEqual(errors("key pot"), ['Unknown command "key pot". Did you mean `key put`?']);
  assert.deepEqual(errors("key quark"), [
    'Unknown command "key quark". Commands: key put, key list. Run `reelpost key --help`.',
  ]);
});

test("reports every error of a command line with its fix", () => {
  assert.deepEqual(errors(""), []);
  assert.deepEqual(errors("sevre"), ['Unknown command "sevre". Did you mean `serve`?']);
  assert.deepEqual(errors("quark"), ['Unknown command "quark". Commands: serve, key. Run `reelpost --help`.']);
  assert.deepEqual(errors("serve"), [
    "Missing argument <dir>: the folder. Usage: reelpost serve <dir> [mode] [options]",
  ]);
  assert.deepEqual(errors("serve a slw more"), [
    'Unexpected argument "more". Usage: reelpost serve <dir> [mode] [options]',
    'Invalid value "slw" for <mode>. Did you mean "slow"? Choose one of fast, slow.',
  ]);
  assert.deepEqual(errors("serve a --prot 1"), ["Unknown option --prot of `reelpost serve`. Did you mean --port?"]);
  assert.deepEqual(errors("serve a --secrets -x"), [
    "Unknown option --secrets of `reelpost serve`. Run `reelpost serve --help` for the list.",
    "Unknown option -x of `reelpost serve`. Run `reelpost serve --help` for the list.",
  ]);
  assert.deepEqual(errors("serve a --ttl 5"), [
    "Unknown option --ttl of `reelpost serve`. Run `reelpost serve --help` for the list.",
  ]);
  assert.deepEqual(errors("serve a --config --port 99999 --level mid --json=yes --level"), [
    "The option --config needs a value. Use --config <file>.",
    'Invalid value "mid" for --level. Choose one of low, high.',
    "The option --json does not take a value. Use --json without a value.",
    "The option --level needs a value. Use --level low.",
    'Invalid value "99999" for <mode>. Choose one of fast, slow.',
  ]);
  assert.deepEqual(
    errors("serve a -p 0 -p 1.5 --port=1e3 --port 70000"),
    Array(4)
      .fill(0)
      .map(
        (_, i) => `Invalid value "${["0", "1.5", "1e3", "70000"][i]}" for --port. Use a whole number from 1 to 65535.`,
      ),
  );
  assert.deepEqual(errors("serve a --port 1 --port 2"), [
    "The option --port is given more than once. Remove the duplicates.",
  ]);
});

test("treats an empty value after = or as the next argument as missing", () => {
  for (const line of [
    ["serve", "site", "--config", ""],
    ["serve", "site", "--config="],
    ["serve", "site", "-c", ""],
    ["serve", "site", "--level", ""],
  ]) {
    const { errors: found } = parseCommandLine(line, COMMANDS);
    assert.deepEqual(
      found.map(({ kind }) => kind),
      ["valueMissing"],
      line.join(" "),
    );
  }
});

test("does not report errors of a command line that requests help", () => {
  assert.deepEqual(errors("quark --help"), []);
  assert.equal(parse("serve --help").values.help, true);
});

test("no command line makes the parser throw", () => {
  const word = fc.oneof(
    fc.constantFrom(
      "serve",
      "key",
      "put",
      "--config",
      "-c",
      "-cx",
      "--",
      "-",
      "--port",
      "-p",
      "1",
      "--=",
      "--no-port",
      "=",
      "--json",
      "--__proto__",
      "--constructor=1",
      "-hv",
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word), (words) => {
      const { command, errors: wrong, args } = parseCommandLine(words, COMMANDS);
      assert.ok(
        command !== undefined || wrong.length > 0 || args.length === 0 || words.some((each) => each.startsWith("-")),
      );
    }),
  );
});
