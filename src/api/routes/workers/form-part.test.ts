import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../../kernel/index.ts";
import { isPartOf, partOf } from "./form-part.ts";

/** Returns the fields that the SDK creates from an object. */
function fieldsOf(value: unknown, key: string): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((each) => fieldsOf(each, `${key}[]`));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, each]) => fieldsOf(each, `${key}[${name}]`));
  return [[key, String(value)]];
}

const formOf = (fields: [string, string | File][]) => {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value as string);
  return form;
};

test("a part is JSON in a field or file, or a set of branches that form an object", async () => {
  const value = {
    main_module: "a.js",
    bindings: [
      { type: "plain_text", name: "A", text: "true" },
      { name: "B", type: "json", json: { deep: { list: ["1", "2"] } } },
    ],
    compatibility_flags: ["x", "y"],
    annotations: { "workers/message": "m[0]" },
  };
  assert.deepEqual(await partOf(formOf([["metadata", JSON.stringify(value)]]), "metadata"), value);
  assert.deepEqual(await partOf(formOf([["metadata", new File([JSON.stringify(value)], "blob")]]), "metadata"), value);
  assert.deepEqual(await partOf(formOf(fieldsOf(value, "metadata")), "metadata"), value);
  assert.equal(
    await partOf(
      formOf([
        ["metadatum", "x"],
        ["other[a]", "x"],
      ]),
      "metadata",
    ),
    undefined,
  );
  assert.deepEqual(
    [isPartOf("metadata", "metadata"), isPartOf("metadata[a]", "metadata"), isPartOf("metadata.js", "metadata")],
    [true, true, false],
  );
});

test("converts text fields to numbers and booleans where the metadata requires them", async () => {
  const value = {
    logpush: true,
    limits: { cpu_ms: 50 },
    observability: { enabled: false, head_sampling_rate: 0.5, logs: { destinations: ["a"] } },
  };
  assert.deepEqual(await partOf(formOf(fieldsOf(value, "metadata")), "metadata"), value);
});

test("rejects values that cannot be a part", async () => {
  const refused = (fields: [string, string | File][]) =>
    assert.rejects(partOf(formOf(fields), "metadata"), (err) => err instanceof UserError && err.entry.http === 400);
  await refused([["metadata", "{"]]);
  await refused([
    ["metadata", "{}"],
    ["metadata", "{}"],
  ]);
  await refused([["metadata[a]", new File(["x"], "x")]]);
  await refused([[`metadata${"[a]".repeat(11)}`, "x"]]);
  await refused([["metadata[]", "x"]]);
});

const word = fc.string({ minLength: 1, unit: fc.constantFrom(..."abcdefghij") });
const scalar = fc.string();
const binding = fc.record({
  name: word,
  type: word,
  more: fc.oneof(scalar, fc.dictionary(word, scalar, { minKeys: 1 }), fc.array(scalar, { minLength: 1 })),
});
const part = fc.dictionary(
  word,
  fc.oneof(
    scalar,
    fc.array(scalar, { minLength: 1 }),
    fc.array(binding, { minLength: 1 }),
    fc.dictionary(word, scalar, { minKeys: 1 }),
  ),
  { minKeys: 1 },
);

test("round-trips any object through branches", async () => {
  await fc.assert(
    fc.asyncProperty(part, async (value) => {
      assert.deepEqual(await partOf(formOf(fieldsOf(value, "p")), "p"), JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 300 },
  );
});

test("accepts or rejects arbitrary fields", async () => {
  const name = fc
    .array(fc.constantFrom("[]", "[a]", "[b]", "[", "]", "[__proto__]", "x"), { maxLength: 6 })
    .map((parts) => `p${parts.join("")}`);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, scalar), { maxLength: 8 }), async (fields) => {
      await partOf(formOf(fields), "p").catch((err: unknown) => assert.ok(err instanceof UserError, String(err)));
    }),
    { numRuns: 500 },
  );
  assert.equal(({} as { x?: string }).x, undefined);
});

test("rejects metadata with too many values or too much nesting before parsing it", async () => {
  for (const [text, kind] of [
    [`{"bindings":[${"0,".repeat(200_000)}0]}`, "tooManyValues"],
    [`{"migrations":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, "tooDeep"],
  ] as const) {
    await assert.rejects(partOf(formOf([["metadata", text]]), "metadata"), { kind });
  }
});
