import assert from "node:assert/strict";
import { join } from "node:path";
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
