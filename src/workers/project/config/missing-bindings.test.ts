import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { folder, read, refusal } from "./read.testing.ts";

test("an unsupported binding is a warning in development, and an error in a deploy unless it may be missing", async (t) => {
  const config = (reelpost: object) =>
    JSON.stringify({
      name: "w",
      main: "index.js",
      compatibility_date: "2026-10-01",
      vectorize: [{ binding: "INDEX", index_name: "mail" }],
      browser: { binding: "BROWSER" },
      reelpost,
    });
  const root = await folder(t, { "wrangler.json": config({}), "index.js": "export default {};" });
  const missing = [
    { name: "BROWSER", product: "Browser Rendering" },
    { name: "INDEX", product: "Vectorize" },
  ];
  const development = await read(root);
  assert.deepEqual(development.missingBindings, missing);
  assert.deepEqual(
    development.warnings.map(({ message }) => message),
    [
      '"browser": reelpost does not support Browser Rendering: env.BROWSER is undefined',
      '"vectorize": reelpost does not support Vectorize: env.INDEX is undefined',
    ],
  );
  assert.match(
    await refusal(root, { purpose: "deploy" }),
    /error: "browser": reelpost does not support Browser Rendering\n +fix: remove it, or deploy without it: --allow-missing-bindings/,
  );
  assert.deepEqual((await read(root, { purpose: "deploy", allowMissing: true })).missingBindings, missing);
  await writeFile(join(root, "wrangler.json"), config({ missing_bindings: "undefined" }));
  assert.deepEqual((await read(root, { purpose: "deploy" })).missingBindings, missing);
});
