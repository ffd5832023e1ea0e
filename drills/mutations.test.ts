import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { listMutations, mutate } from "./harness/mutation-lists.ts";

const ROOT = join(import.meta.dirname, "..");
const listed = await listMutations(join(import.meta.dirname, "mutations"));

test("every listed mutation matches exactly once in its file, parses, and names an existing test file", () => {
  const problems = listed.flatMap((mutation) => {
    const changed = mutate(ROOT, mutation);
    return "problem" in changed ? [`${mutation.id}: ${changed.problem}`] : [];
  });
  assert.deepEqual(problems, []);
});

test("no mutation is listed twice", () => {
  const changes = listed.map(({ file, from, to }) => JSON.stringify([file, from, to]));
  assert.deepEqual(
    changes.filter((change, i) => changes.indexOf(change) !== i),
    [],
  );
});

test("the test name of every mutation occurs in or below the folder of its test file", () => {
  // Conformance suites are next to the test file that runs them, or in a folder below.
  const textOf = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(test|conformance)\.ts$/.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8"))
      .join("\n");
  const problems = listed.flatMap(({ id, name, test: file }) =>
    name === undefined || new RegExp(name).test(textOf(join(ROOT, dirname(file)))) ? [] : [`${id}: ${name}`],
  );
  assert.deepEqual(problems, []);
});
