import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { settingsFiles } from "../../scripts/settings-files.ts";

for (const [file, text] of Object.entries(settingsFiles)) {
  test(`${file} documents every setting that the program reads`, () => {
    assert.equal(
      readFileSync(join(import.meta.dirname, "..", "..", file), "utf8"),
      text,
      "run `node scripts/settings-files.ts`",
    );
  });
}
