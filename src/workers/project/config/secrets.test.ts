import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { folder, minimal, read, warnings } from "./read.testing.ts";
import type { ReadProjectOptions } from "./read.ts";

test("reads only the required secrets, and reports a missing one", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "secrets": { "required": ["A", "B"] } }`,
    ".dev.vars": "A=1\nC=2",
  });
  assert.deepEqual((await read(root)).bindings, [{ type: "secret_text", name: "A", text: "1" }]);
  assert.equal(
    await warnings(root),
    `wrangler.jsonc:1:110: warning: the secret B is required and has no value\n  fix: add B=… to ${join(root, ".dev.vars")}`,
  );
});

test("later .env files override earlier ones, expand variables, and are replaced by .dev.vars", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "kv_namespaces": [{ "binding": "KV", "id": "k" }], "env": { "staging": {} } }`,
    ".env":
      'HOST=example.com\nURL="https://${HOST}/a"\nPRICE=\\$5\nPORT=${PORT_OF_PROCESS:-8080}\nKV=for-another-tool\nnot an assignment\n',
    ".env.local": "HOST=localhost\n",
    ".env.staging": "HOST=staging.example.com\n",
  });
  const secrets = async (options: Partial<ReadProjectOptions> = {}) =>
    Object.fromEntries(
      (await read(root, options)).bindings.flatMap((binding) =>
        binding.type === "secret_text" ? [[binding.name, binding.text]] : [],
      ),
    );
  assert.deepEqual(await secrets(), {
    HOST: "localhost",
    URL: "https://localhost/a",
    PRICE: "$5",
    PORT: "8080",
  });
  assert.equal((await secrets({ environment: "staging" }))["URL"], "https://staging.example.com/a");
  assert.deepEqual(await secrets({ env: { CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "false" } }), {});
  const included = await secrets({
    env: { CLOUDFLARE_INCLUDE_PROCESS_ENV: "true", PORT_OF_PROCESS: "1", HOST: "own" },
  });
  assert.deepEqual([included["PORT"], included["URL"], included["PORT_OF_PROCESS"]], ["1", "https://own/a", "1"]);
  assert.match(await warnings(root), /\.env:6:1: warning: this line is not NAME=value/);
  await writeFile(join(root, ".dev.vars"), "ONLY=this\n");
  assert.deepEqual(await secrets(), { ONLY: "this" });
});
