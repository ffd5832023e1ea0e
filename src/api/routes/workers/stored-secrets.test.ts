import assert from "node:assert/strict";
import { test } from "node:test";
import { unrestrictedCaller } from "../../api.testing.ts";
import { formOf, metadataOf, startWorkersApi, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/hello`;
const bindingOf = (secret: string, name = "KEY") => ({
  type: "secrets_store_secret",
  name,
  store_id: "s",
  secret_name: secret,
});
const upload = (...bindings: object[]) => ({ body: formOf(metadataOf({ bindings })) });

test("a token without the permission cannot bind further secrets of the Secrets Store", async (t) => {
  let maySecrets = false;
  const { ok, refused } = await startWorkersApi(t, {
    caller: { ...unrestrictedCaller, allows: (permission) => maySecrets || permission !== "Secrets Store Write" },
  });
  const denied = [403, 9109];
  const refusal = async (...request: Parameters<typeof refused>) => (await refused(...request)).slice(0, 2);
  assert.deepEqual(await refusal("put", SCRIPT, upload(bindingOf("one"))), denied);
  maySecrets = true;
  await ok("put", SCRIPT, upload(bindingOf("one")));

  maySecrets = false;
  await ok("put", SCRIPT, upload(bindingOf("one", "RENAMED")));
  await ok("patch", `${SCRIPT}/settings`, { body: { logpush: true, compatibility_date: "2026-09-01" } });
  await ok("put", `${SCRIPT}/secrets`, { body: { name: "OWN", text: "x", type: "secret_text" } });
  assert.deepEqual(await refusal("put", SCRIPT, upload(bindingOf("one"), bindingOf("two", "B"))), denied);
  assert.deepEqual(await refusal("post", `${SCRIPT}/versions`, upload(bindingOf("two"))), denied);
  assert.deepEqual(await refusal("patch", `${SCRIPT}/settings`, { body: { bindings: [bindingOf("two")] } }), denied);

  const { items } = await ok("get", `${SCRIPT}/versions`);
  await ok("put", SCRIPT, upload());
  const inherited = { type: "inherit", name: "KEY", old_name: "RENAMED", version_id: items[0].id };
  assert.deepEqual(await refusal("put", SCRIPT, upload(inherited)), denied);
});
