import assert from "node:assert/strict";
import { test } from "node:test";
import { folderWith, runCli, startFakeApi } from "../cli.testing.ts";

test("the token and the server come from .env, but not the token of the hosted service", async (t) => {
  const api = await startFakeApi(t, {
    "GET /accounts": { result: [{ id: "a".repeat(32), name: "Acme" }], result_info: { total_count: 1 } },
    "GET /user": { result: { id: "u", email: "ada@example.com" } },
    "GET /user/tokens/verify": { result: { id: "t", status: "active" } },
  });
  const cwd = await folderWith(t, {
    ".env": `REELPOST_API_BASE_URL=${api.url}\nREELPOST_API_TOKEN=from-the-file\nCLOUDFLARE_API_TOKEN=hosted\n`,
  });
  await runCli(["whoami"], { cwd });
  assert.deepEqual(new Set(api.seen.map(({ headers }) => headers.authorization)), new Set(["Bearer from-the-file"]));
  api.seen.length = 0;
  await runCli(["whoami"], { cwd, env: { REELPOST_API_TOKEN: "of-the-process" } });
  assert.deepEqual(new Set(api.seen.map(({ headers }) => headers.authorization)), new Set(["Bearer of-the-process"]));
});
