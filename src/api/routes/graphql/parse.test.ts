import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { selectedFields, type Field } from "./fields.ts";
import { QueryError } from "./lex.ts";
import { parseQuery } from "./parse.ts";

const read = (query: string, variables: Record<string, unknown> = {}, name?: string) =>
  selectedFields(parseQuery(query), name, variables);
const refuses = (query: string, why: RegExp, variables?: Record<string, unknown>, name?: string) =>
  assert.throws(
    () => read(query, variables, name),
    (err: Error) => {
      assert.ok(err instanceof QueryError, `${err.stack}`);
      assert.match(err.message, why);
      return true;
    },
  );
const leaf = (name: string, key = name): Field => ({ key, name, args: {}, fields: [] });

test("parses fields with aliases, arguments and values of every kind", () => {
  const query = `\ufeffquery Named($v: [string!]! = ["x"], $n: Int) { # a comment
    a, b: c(one: 1, two: -2.5e3, text: "q\\"\\u00e9\\n", block: """ raw \\""" text """, yes: true, no: null, word: datetime_DESC, list: [1 [2] $v], object: {k: $n, o: {}}) { d }
  }`;
  assert.deepEqual(read(query, { n: 7 }), [
    leaf("a"),
    {
      key: "b",
      name: "c",
      args: {
        one: 1,
        two: -2500,
        text: 'q"é\n',
        block: 'raw """ text',
        yes: true,
        no: null,
        word: "datetime_DESC",
        list: [1, [2], ["x"]],
        object: { k: 7, o: {} },
      },
      fields: [leaf("d")],
    },
  ]);
});

test("resolves fragments, inline fragments and directives to fields", () => {
  const query = `query A($yes: Boolean!, $no: Boolean = false) { ...f @include(if: $yes) ... on viewer { b @skip(if: $no) c @skip(if: true) } ... @include(if: false) { d } e { x } e { y } }
    fragment f on viewer { a ...g } fragment g on viewer { g }`;
  assert.deepEqual(read(query, { yes: true }), [
    leaf("a"),
    leaf("g"),
    leaf("b"),
    { ...leaf("e"), fields: [leaf("x"), leaf("y")] },
  ]);
});

test("selects one of several queries by name", () => {
  const query = "query A { a } query B { b }";
  assert.deepEqual(read(query, {}, "B"), [leaf("b")]);
  refuses(query, /several queries: select one with operationName/);
  refuses(query, /no operation is named C/, {}, "C");
});

test("reports errors with their position", () => {
  const cases: [query: string, why: RegExp][] = [
    ["", /the query is empty/],
    ["   # nothing", /the query is empty/],
    ["{ viewer", /syntax error at 1:9: expected a field, found the end of the query/],
    ["{ }", /syntax error at 1:3: expected a field, found "}"/],
    ["{\n  viewer { zones(filter: {) } }", /syntax error at 2:27: expected a name, found "\)"/],
    ["{ a(b: ) }", /expected a value, found "\)"/],
    ['{ a(b: "open) }', /syntax error at 1:8: unexpected "\\"open\) }"/],
    ["{ a ! }", /expected a field, found "!"/],
    ["{ a(b: 1x) }", /syntax error at 1:8: unexpected "1x\) }"/],
    ["{ a(b: 01) }", /unexpected/],
    ["{ a } }", /expected a query, found "}"/],
    ["mutation { a }", /mutation is not supported/],
    ["subscription { a }", /subscription is not supported/],
    ["type A { b: Int }", /expected a query, found "type"/],
    ["{ a(b: $c) }", /does not declare the variable \$c/],
    ["query ($c: Int!) { a(b: $c) }", /the variable \$c is required/],
    ["{ ...f }", /there is no fragment f/],
    ["{ ...f } fragment f on x { ...g } fragment g on x { ...f }", /the fragment f contains itself/],
    ["{ a @deprecated }", /there is no directive @deprecated/],
    ["{ a @skip }", /@skip requires an argument "if"/],
    ["{ a: b a: c }", /two different fields have the name a/],
    ["{ a(x: 1) a(x: 2) }", /two different fields have the name a/],
  ];
  for (const [query, why] of cases) refuses(query, why);
});

test("limits deep, long and branching queries", () => {
  const started = performance.now();
  refuses("{a".repeat(5000), /nested more than 16 levels deep/);
  refuses(`{ a(b: ${"[".repeat(50_000)}) }`, /nested more than 16 levels deep|more than 10000 tokens/);
  refuses(`{ a(b: ${"{c:".repeat(3000)}1) }`, /nested more than 16 levels deep/);
  refuses(`query (${"$".repeat(9)}) { a }`, /expected a name/);
  refuses(`query ($v: ${"[".repeat(3000)}) { a }`, /nested more than 16 levels deep/);
  refuses(`{ ${"a ".repeat(20_000)} }`, /more than 10000 tokens/);
  refuses(`{ ${Array.from({ length: 1500 }, (_, i) => `f${i}`).join(" ")} }`, /more than 1000 fields/);
  // Each fragment includes the next one ten times: without a limit, this would expand to ten to the tenth fields.
  const laughs = Array.from(
    { length: 10 },
    (_, i) =>
      `fragment f${i} on x { ${Array.from({ length: 10 }, (_unused, j) => `a${j}: b { ...f${i + 1} }`).join(" ")} }`,
  ).join(" ");
  refuses(`{ ...f0 } ${laughs} fragment f10 on x { c }`, /more than 1000 fields/);
  // The same without fields in between.
  refuses(
    `{ ...f0 } ${Array.from({ length: 10 }, (_, i) => `fragment f${i} on x { ${`...f${i + 1} `.repeat(10)} }`).join(" ")} fragment f10 on x { c @skip(if: true) }`,
    /more than 1000/,
  );
  refuses(
    `{ ...f0 } ${Array.from({ length: 60 }, (_, i) => `fragment f${i} on x { ...f${i + 1} }`).join(" ")} fragment f60 on x { c }`,
    /more than 20 levels deep/,
  );
  assert.ok(performance.now() - started < 30_000);
});

test("arbitrary input is parsed or rejected", () => {
  const words = fc.constantFrom(
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "$",
    ":",
    "!",
    "=",
    "@",
    "...",
    "on",
    "query",
    "fragment",
    "a",
    "b",
    "1",
    "-2.5",
    '"t"',
    '"""',
    '"',
    "#",
    "\n",
    ",",
    "é",
    "\0",
    "true",
    "null",
    "skip",
    "if",
    "__proto__",
    "constructor",
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 60 }), fc.boolean(), (list, spaced) => {
      try {
        read(list.join(spaced ? " " : ""), { a: 1 });
      } catch (err) {
        assert.ok(err instanceof QueryError, String((err as Error).stack));
      }
    }),
    { numRuns: 3000 },
  );
});
