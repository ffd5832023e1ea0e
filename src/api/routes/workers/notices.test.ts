import assert from "node:assert/strict";
import { test } from "node:test";
import { NEWEST_COMPATIBILITY_DATE } from "../../../workers/project/index.ts";
import { CODE, startWorkersApi, WORKERS } from "./workers.testing.ts";

function uploadForm(metadata: object): FormData {
  const form = new FormData();
  form.append("metadata", JSON.stringify({ main_module: "index.js", ...metadata }));
  form.append("index.js", new File([CODE], "index.js", { type: "application/javascript+module" }));
  return form;
}

test("an upload reports settings without effect on this server, and accepts a newer compatibility date", async (t) => {
  const newer = new Date(Date.parse(NEWEST_COMPATIBILITY_DATE) + 86_400_000).toISOString().slice(0, 10);
  const { call, ok } = await startWorkersApi(t);
  const { status, body } = await call("put", `${WORKERS}/scripts/hello`, {
    body: uploadForm({
      compatibility_date: newer,
      logpush: true,
      placement: { mode: "smart" },
      observability: { enabled: true },
    }),
  });
  assert.equal(status, 200);
  assert.deepEqual(
    body.messages.map(({ code, message }: { code: number; message: string }) => [code, message.split(":")[0]]),
    [
      [100_301, `The runtime of this server supports compatibility dates up to ${NEWEST_COMPATIBILITY_DATE}`],
      [100_302, "`logpush` is stored, but has no effect on this server. Use `wrangler tail` or the log of the server."],
      [100_302, "`placement` is stored, but has no effect on this server. Workers run on this server."],
      [
        100_302,
        "`observability` is stored, but has no effect on this server. Use `wrangler tail` or the log of the server.",
      ],
    ],
  );
  // Clients compare the stored date with their configuration.
  assert.equal((await ok("get", `${WORKERS}/scripts/hello/settings`)).compatibility_date, newer);
  const supported = await call("put", `${WORKERS}/scripts/other`, {
    body: uploadForm({ compatibility_date: NEWEST_COMPATIBILITY_DATE }),
  });
  assert.deepEqual(supported.body.messages, []);
});
