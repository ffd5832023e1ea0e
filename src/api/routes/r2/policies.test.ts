import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { TEST_ACCOUNT, TEST_TOKEN, unrestrictedCaller } from "../../api.testing.ts";
import { QUEUE, startStorageApi, ZONE } from "../storage.testing.ts";
import { base } from "./r2.testing.ts";
import { r2Routes } from "./routes.ts";

/** Bodies of the operations that validate one. */
const BODIES: Record<string, unknown> = {
  "r2-put-bucket-cors-policy": { rules: [] },
  "r2-put-bucket-lifecycle-configuration": { rules: [] },
  "r2-put-bucket-public-policy": { enabled: true },
  "r2-add-custom-domain": { domain: "files.example.com", zoneId: ZONE.id },
  "r2-edit-custom-domain-settings": { enabled: true },
  "r2-put-event-notification-config": { rules: [{ actions: ["PutObject"] }] },
  "r2-event-notification-delete-config": {},
  "r2-put-object": "text",
};

/** Returns a token with a permission on the account and a policy that denies the objects of buckets named `name`. */
const denying = (name: string, denied: RegExp) => ({
  ...unrestrictedCaller,
  allows: (permission: string, on: object) => !(denied.test(permission) && "bucket" in on && on.bucket === name),
});

const bucketOperations = r2Routes({} as never)
  .map(({ operation }) => operation)
  .filter(({ path }) => path.includes("{bucket_name}"))
  .map(({ id, method, path }) => ({
    id,
    method,
    pathOf: (bucket: string) =>
      path
        .replace("{account_id}", TEST_ACCOUNT)
        .replace("{bucket_name}", bucket)
        .replace("{object_key+}", "a")
        .replace("{queue_id}", QUEUE.id)
        .replace("{domain}", "files.example.com"),
  }));

test("a policy that denies the objects of a bucket applies to every operation on it", async (t) => {
  const { call, r2 } = await startStorageApi(t, { caller: denying("locked", /Bucket Item (Read|Write)$/) });
  for (const name of ["locked", "open"]) await r2.bucketList.create(TEST_ACCOUNT, name);
  assert.ok(bucketOperations.length > 20);
  for (const { id, method, pathOf } of bucketOperations) {
    const response = await call(method, pathOf("locked"), { body: BODIES[id] });
    assert.equal(response.status, 403, `${id}: ${response.text}`);
  }
  assert.notEqual(await r2.bucketList.get(TEST_ACCOUNT, "locked"), undefined);
  assert.equal((await call("put", `${base}/open/objects/a`, { body: "text" })).status, 200);
  const listed = await call("get", base, { query: { per_page: 1 } });
  assert.deepEqual(
    listed.body.result.buckets.map(({ name }: { name: string }) => name),
    ["open"],
  );
  assert.equal(listed.body.result_info.cursor, undefined);
});

test("a policy that denies writing the objects of a bucket still allows reading them", async (t) => {
  const { call, r2 } = await startStorageApi(t, { caller: denying("archive", /Bucket Item Write$/) });
  await r2.bucketList.create(TEST_ACCOUNT, "archive");
  for (const { id, method, pathOf } of bucketOperations) {
    const { status } = await call(method, pathOf("archive"), { body: BODIES[id] });
    assert.equal(status === 403, method !== "get", `${id}: ${status}`);
  }
  assert.equal((await call("post", base, { body: { name: "archive" } })).status, 403);
});

test("a policy added during an upload prevents the object from being stored", async (t) => {
  let isDenied = false;
  const checked = Promise.withResolvers<void>();
  const { url, r2 } = await startStorageApi(t, {
    caller: {
      ...unrestrictedCaller,
      allows(_, on) {
        if ("bucket" in on) checked.resolve();
        return !(isDenied && "bucket" in on);
      },
    },
  });
  const { id } = await r2.bucketList.create(TEST_ACCOUNT, "bucket");
  const upload = httpRequest(`${url}${base}/bucket/objects/a`, {
    method: "PUT",
    agent: false,
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": "6" },
  });
  upload.write("abc");
  await checked.promise;
  isDenied = true;
  upload.end("def");
  const [response] = (await once(upload, "response")) as [IncomingMessage];
  response.resume();
  assert.equal(response.statusCode, 403);
  assert.equal(await r2.buckets.head(id, "a"), undefined);
});
