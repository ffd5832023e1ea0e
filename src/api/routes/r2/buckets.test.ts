import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { startStorageApi } from "../storage.testing.ts";
import { base, codes } from "./r2.testing.ts";

test("buckets are created, listed by cursor, updated and deleted", async (t) => {
  const { call, clock, r2 } = await startStorageApi(t);
  const made = await call("post", base, {
    body: JSON.stringify({ name: "photos", locationHint: "WEUR", storageClass: "InfrequentAccess" }),
    headers: { "content-type": "text/plain;charset=UTF-8" },
  });
  assert.deepEqual(made.body.result, {
    name: "photos",
    creation_date: new Date(clock.now()).toISOString(),
    location: "weur",
    storage_class: "InfrequentAccess",
    jurisdiction: "default",
  });
  assert.deepEqual(codes(await call("post", base, { body: { name: "photos" } })), [
    409,
    10004,
    "The bucket you tried to create already exists, and you own it.",
  ]);
  assert.deepEqual(codes(await call("post", base, { body: { name: "No" } })), [
    400,
    10005,
    "The specified bucket name is not valid.",
  ]);
  assert.equal((await call("post", base, { body: { name: "abc", locationHint: "moon" } })).status, 400);
  await call("post", base, { body: { name: "european" }, headers: { "cf-r2-jurisdiction": "eu" } });
  for (const name of ["a-1", "a-2", "a-3"]) await call("post", base, { body: { name } });

  const names: string[][] = [];
  let cursor: string | undefined;
  do {
    const { body } = await call("get", base, { query: { per_page: 2, ...(cursor !== undefined && { cursor }) } });
    names.push(body.result.buckets.map(({ name }: { name: string }) => name));
    cursor = body.result_info.cursor;
  } while (cursor !== undefined);
  assert.deepEqual(names, [["a-1", "a-2"], ["a-3", "european"], ["photos"]]);
  const found = async (query: Record<string, string>) =>
    (await call("get", base, { query })).body.result.buckets.map(({ name }: { name: string }) => name);
  assert.deepEqual(await found({ name_contains: "op" }), ["european"]);
  assert.deepEqual(await found({ start_after: "a-2", direction: "desc", order: "name" }), ["a-1"]);
  assert.equal((await call("get", base, { query: { cursor: "nonsense!" } })).status, 400);

  assert.equal((await call("get", `${base}/photos`)).body.result.name, "photos");
  assert.deepEqual(codes(await call("get", `${base}/absent`)), [404, 10006, "The specified bucket does not exist."]);
  assert.equal((await call("get", `${base}/european`, { headers: { "cf-r2-jurisdiction": "fedramp" } })).status, 404);
  assert.equal(
    (await call("get", `${base}/european`, { headers: { "cf-r2-jurisdiction": "eu" } })).body.result.jurisdiction,
    "eu",
  );
  assert.equal(
    (await call("patch", `${base}/photos`, { headers: { "cf-r2-storage-class": "Standard" } })).body.result
      .storage_class,
    "Standard",
  );
  assert.equal((await call("patch", `${base}/photos`, { headers: { "cf-r2-storage-class": "Cold" } })).status, 400);

  await r2.buckets.put((await r2.bucketList.get(TEST_ACCOUNT, "photos"))!.id, "key", Buffer.from("v"));
  assert.deepEqual(codes(await call("delete", `${base}/photos`)), [
    409,
    10008,
    `The bucket you tried to delete (photos) is not empty (account ${TEST_ACCOUNT}).`,
  ]);
  await call("delete", `${base}/photos/objects/key`);
  assert.equal((await call("delete", `${base}/photos`)).status, 200);
  assert.equal((await call("delete", `${base}/photos`)).status, 404);
});
