import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { testFiles } from "../../scripts/test/files.ts";

test("finds the project's test files, but none of an installed package", (t) => {
  const root = mkdtempSync(join(tmpdir(), "reelpost-files-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const path of ["src/a/a.test.ts", "src/a/a.ts", "test/b.test.ts", "test/clients/node_modules/zod/c.test.ts"]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
  assert.deepEqual(testFiles(root).toSorted(), ["src/a/a.test.ts", "test/b.test.ts"]);
});
