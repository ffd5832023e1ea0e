import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { DATE, folder, read } from "./read.testing.ts";

test("a worker may consist of assets only, and their fields are checked", async (t) => {
  const only = { name: "site", compatibility_date: DATE, assets: { directory: "./public" } };
  const root = await folder(t, { "wrangler.json": JSON.stringify(only), "public/index.html": "" });
  const project = await read(root);
  const based = await folder(t, {
    "wrangler.json": JSON.stringify({ ...only, assets: { directory: "./public", base_path: "docs" } }),
    "public/index.html": "",
  });
  assert.deepEqual((await read(based)).assets?.config, { basePath: "/docs/" });
  assert.deepEqual([project.main, project.bindings, project.assets?.directory], ["", [], join(root, "public")]);

  const refusal = async (config: object) => {
    const wrong = await folder(t, { "wrangler.json": JSON.stringify({ ...only, ...config }), "src/index.ts": "" });
    return read(wrong).then(
      ({ warnings }) => warnings.map(({ message }) => message).join("\n"),
      (err: Error) => err.message,
    );
  };
  assert.match(await refusal({}), /the directory in "assets.directory" does not exist: "\.\/public"/);
  assert.match(
    await refusal({ assets: { directory: "x", binding: "A" } }),
    /"assets.binding" is set, but there is no "main"/,
  );
  assert.match(
    await refusal({ assets: { directory: "x" }, queues: { consumers: [{ queue: "q" }] } }),
    /"queues.consumers" is set, but there is no "main"/,
  );
  assert.match(await refusal({ assets: {} }), /"assets\.directory" is missing/);
  const main = "src/index.ts";
  assert.match(
    await refusal({ main, assets: { directory: "x", run_worker_first: ["!/a"] } }),
    /"assets.run_worker_first" is invalid: it has only negative patterns/,
  );
  assert.match(
    await refusal({ main, assets: { directory: "x", base_path: "https://docs" } }),
    /"assets.base_path" is invalid: "https:\/\/docs" is a URL/,
  );
  assert.match(
    await refusal({ main, vars: { A: "1" }, assets: { directory: "x", binding: "A" } }),
    /duplicate name "A"/,
  );
});
