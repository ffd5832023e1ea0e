import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ListedMutation } from "./mutation-lists.ts";
import { runMutations } from "./mutation-run.ts";

const SOURCE = `export const add = (a: number, b: number): number => a + b;
export const LIMIT = 10;
export const settles = async (): Promise<void> => {};
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { add, LIMIT, settles } from "./sum.ts";
test("adds", () => assert.equal(add(2, 3), 5));
test("settles", async () => {
  const alive = setInterval(() => {}, 1000);
  await settles();
  clearInterval(alive);
});
test("names the limit", () => assert.ok(LIMIT > 0));
`;

const RED = `import { test } from "node:test";
test("fails always", () => { throw new Error("no"); });
`;

test("counts killed, survived and invalid mutations, and does not change the checkout", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mutation-run-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [root, dir] = [join(folder, "project"), join(folder, "work")];
  for (const path of [join(root, "src"), dir]) mkdirSync(path, { recursive: true });
  writeFileSync(join(root, "package.json"), '{"type":"module"}');
  for (const [name, text] of Object.entries({ "sum.ts": SOURCE, "sum.test.ts": TEST, "red.test.ts": RED }))
    writeFileSync(join(root, "src", name), text);

  const base = { file: "src/sum.ts", test: "src/sum.test.ts" };
  const listed: ListedMutation[] = [
    { ...base, id: "killed", from: "a + b", to: "a - b" },
    { ...base, id: "survives", from: "LIMIT = 10", to: "LIMIT = 11" },
    {
      ...base,
      id: "hangs as expected",
      from: "=> {}",
      to: "=> new Promise(() => {})",
      name: "^settles$",
      timeoutMs: 3000,
    },
    { ...base, id: "other test", from: "a + b", to: "a * b", name: "^names the limit$" },
    { ...base, id: "ambiguous", from: "export", to: "const" },
    { ...base, id: "absent", from: "a ** b", to: "a" },
    { ...base, id: "no syntax", from: "a + b", to: "a + + ;" },
    { ...base, id: "does not load", from: "export const LIMIT", to: "const LIMIT" },
    { ...base, id: "red without it", from: "a + b", to: "a - b", test: "src/red.test.ts" },
    { ...base, id: "no test runs", from: "a + b", to: "a - b", name: "^no such test$" },
  ];
  const report = await runMutations(listed, { root, dir, jobs: 2, say: () => {} });

  assert.deepEqual(
    [report.killed, report.killed_by_timeout, report.survived, report.invalid, report.killed_ratio],
    [2, 1, 2, 6, 0.2],
  );
  assert.deepEqual(
    report.survivors.map((line) => line.split(":")[0]),
    ["survives", "other test"],
  );
  assert.match(
    report.invalids.join("\n"),
    /ambiguous: .*occurs 3 times[^]*absent: .*occurs 0 times[^]*no syntax: .*does not parse[^]*does not load: .*without a failed test[^]*red without it: .*fails without the change: "fails always" fails[^]*no test runs: .*no test ran/,
  );
  assert.equal(readFileSync(join(root, "src/sum.ts"), "utf8"), SOURCE);
});
