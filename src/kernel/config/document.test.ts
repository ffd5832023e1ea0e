import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { stringify } from "smol-toml";
import { parseDocument, type ConfigDocument } from "./document.ts";
import type { Path } from "./problems.ts";
import { formatPosition } from "./problems.ts";

const problemsOf = (file: string, text: string) =>
  parseDocument(file, text).problems.map(
    ({ severity, line, column, message }) => `${line}:${column} ${severity} ${message}`,
  );

test("ignores comments, trailing commas and a byte order mark", () => {
  const document = parseDocument("a.jsonc", `\uFEFF{\n  // hello\n  "a": [1, 2,], /* x */\n}\n`);
  assert.deepEqual(document.problems, []);
  assert.deepEqual(structuredClone(document.value), { a: [1, 2] });
  assert.deepEqual(document.locate(["a", 1]), { file: "a.jsonc", line: 3, column: 12 });
  assert.deepEqual(document.locate(["a"], "name"), { file: "a.jsonc", line: 3, column: 3 });
  assert.deepEqual(document.locate(["nowhere", "near"]), { file: "a.jsonc", line: 1, column: 1 });
});

test("reports every syntax error of a JSON file with its position", () => {
  assert.deepEqual(problemsOf("a.jsonc", `{\n  "a": 1\n  "b": tru,\n  c: 2\n}`), [
    "3:3 error a comma is missing here",
    "4:3 error this is not JSON",
    "5:1 error a value is missing here",
  ]);
  assert.deepEqual(problemsOf("a.json", ""), ["1:1 error a value is missing here"]);
  assert.deepEqual(problemsOf("a.json", `{"a": "x`), ["1:7 error the string is not closed"]);
});

test("warns about a duplicate name at its second occurrence", () => {
  assert.deepEqual(problemsOf("a.json", `{"a": 1,\n "b": {"c": 1, "c": 2},\n "a": 2}`), [
    '2:16 warning duplicate field "c"; the last one is used',
    '3:2 warning duplicate field "a"; the last one is used',
  ]);
});

test("rejects oversized files in bounded time", () => {
  assert.match(problemsOf("a.json", "[".repeat(200_000))[0]!, /nested too deeply/);
  assert.match(problemsOf("a.toml", `a = ${"[".repeat(200_000)}`)[0]!, /^1:/);
  assert.match(problemsOf("a.json", " ".repeat(2_000_000))[0]!, /2000000 characters long/);
});

test("TOML: reads an unquoted date as text, and reports the position of an error", () => {
  assert.deepEqual(parseDocument("a.toml", "compatibility_date = 2026-11-20\n").value, {
    compatibility_date: "2026-11-20",
  });
  assert.deepEqual(problemsOf("a.toml", 'a = 1\nb = "x\n'), [
    "2:7 error invalid TOML: control characters are not allowed in strings",
  ]);
});

test("TOML: locates headers, arrays of tables, dotted and quoted names, inline tables, multi-line strings", () => {
  const text = [
    "# comment with a = 1", // 1
    'name = "x" # name = 2', // 2
    'a."b c".d = [ 1, { e = "}" }, # ]', // 3
    "  '''", // 4
    "k = 1''', 4 ]", // 5
    "[env.staging]", // 6
    "[[env.staging.kv]]", // 7
    'binding = "K"', // 8
    "[[env.staging.kv]]", // 9
    'binding = "L"', // 10
    "[env.staging.kv.more]", // 11
    "deep = true", // 12
  ].join("\n");
  const document = parseDocument("a.toml", text);
  const at = (...path: (string | number)[]) => formatPosition(document.locate(path)).replace("a.toml:", "");
  assert.equal(at("name"), "2:8");
  assert.equal(at("a", "b c", "d", 0), "3:15");
  assert.equal(at("a", "b c", "d", 1, "e"), "3:24");
  assert.equal(at("a", "b c", "d", 2), "4:3");
  assert.equal(at("a", "b c", "d", 3), "5:11");
  assert.equal(at("env", "staging", "kv", 0, "binding"), "8:11");
  assert.equal(at("env", "staging", "kv", 1, "binding"), "10:11");
  assert.equal(at("env", "staging", "kv", 1), "9:1");
  assert.equal(at("env", "staging", "kv", 1, "more", "deep"), "12:8");
  assert.equal(at("env", "staging", "kv", 1, "missing"), "9:1");
});

// ---- generated documents: the text at a leaf's position is that leaf

const name = fc
  .oneof(fc.stringMatching(/^[a-z][a-z0-9_-]{0,5}$/), fc.stringMatching(/^[ -~]{1,5}$/))
  .filter((text) => text !== "__proto__");
const leaf = fc.oneof(
  fc.stringMatching(/^[ -~]{0,8}$/),
  fc.stringMatching(/^[ -~\n"'\\]{0,8}$/),
  fc.integer({ min: -1000, max: 1000 }),
  fc.boolean(),
);
const { table } = fc.letrec<{ value: unknown; table: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    leaf,
    tie("table"),
    fc.array(leaf, { maxLength: 3 }),
    fc.array(tie("table"), { minLength: 1, maxLength: 3 }),
  ),
  table: fc.dictionary(name, tie("value"), { maxKeys: 4 }),
}));

function* leaves(value: unknown, path: Path = []): Generator<[Path, unknown]> {
  if (typeof value !== "object" || value === null) yield [path, value];
  else
    for (const [key, inner] of Object.entries(value))
      yield* leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

function textAt(document: ConfigDocument, path: Path): string {
  const { line, column } = document.locate(path);
  return document.text
    .split("\n")
    .slice(line - 1)
    .join("\n")
    .slice(column - 1);
}

const startsWithLeaf = (text: string, value: unknown) =>
  typeof value === "string" ? /^["']/.test(text) : text.startsWith(String(value));

for (const [file, write] of [
  ["a.toml", (value: object) => stringify(value)],
  ["a.json", (value: object) => JSON.stringify(value, null, 2)],
  ["b.json", (value: object) => JSON.stringify(value)],
] as const) {
  test(`${file}: the position of every leaf of a generated document points to that leaf`, () => {
    fc.assert(
      fc.property(table, (value) => {
        const document = parseDocument(file, write(value));
        assert.deepEqual(document.problems, []);
        for (const [path, expected] of leaves(value))
          assert.ok(startsWithLeaf(textAt(document, path), expected), `${JSON.stringify(path)} in\n${document.text}`);
      }),
    );
  });

  test(`${file}: parses any text without throwing, and reports positions within the text`, () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            ",",
            ":",
            "=",
            "a",
            "1",
            "\n",
            "\\",
            "#",
            "/",
            "*",
            ".",
            " ",
          ),
        }),
        (text) => {
          const lines = text.split("\n").length;
          for (const problem of parseDocument(file, text).problems)
            assert.ok(problem.line! >= 1 && problem.line! <= lines + 1);
        },
      ),
    );
  });
}
