import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import { storeErrors } from "../../../store/index.ts";
import { TEST_ACCOUNT, TEST_TOKEN } from "../../api.testing.ts";
import { base, codes, MiB, startWithBucket } from "./r2.testing.ts";

test("streams a large upload in bounded memory", async (t) => {
  const { url, objects, raw } = await startWithBucket(t);
  const [chunk, chunks] = [randomBytes(MiB), 320];
  const hash = createHash("md5");
  let peak = 0;
  global.gc?.();
  const before = process.memoryUsage().arrayBuffers;
  const sent = request(`${url}${objects}/large`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": String(chunk.length * chunks) },
  });
  const answered = once(sent, "response");
  for (let index = 0; index < chunks; index++) {
    hash.update(chunk);
    if (!sent.write(chunk)) await once(sent, "drain");
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
  }
  sent.end();
  const [response] = (await answered) as [NodeJS.ReadableStream & { statusCode: number; toArray(): Promise<Buffer[]> }];
  const { result } = JSON.parse(Buffer.concat(await response.toArray()).toString()) as {
    result: { etag: string; size: string };
  };
  assert.deepEqual([response.statusCode, result.size, result.etag], [200, String(chunks * MiB), hash.digest("hex")]);
  assert.ok(peak < 96 * MiB, `${Math.round(peak / MiB)} MiB were buffered`);
  const end = await raw("GET", `${objects}/large`, { headers: { range: "bytes=-10" } });
  assert.ok(end.bytes.equals(chunk.subarray(-10)));
});

test("an aborted upload leaves nothing behind, and a rejected upload receives its error response", async (t) => {
  const { url, call, objects, keys, r2 } = await startWithBucket(t);
  const sent = request(`${url}${objects}/broken`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": String(4 * MiB) },
  });
  sent.on("error", () => {});
  sent.write(randomBytes(MiB), () => sent.destroy());
  await new Promise((resolve) => sent.once("close", resolve));
  const refused = await call("put", `${base}/absent/objects/key`, { body: randomBytes(30 * MiB) });
  assert.deepEqual(codes(refused).slice(0, 2), [404, 10006]);
  assert.equal((await call("put", `${objects}/${"k".repeat(1025)}`, { body: randomBytes(30 * MiB) })).status, 400);
  assert.equal(
    (await call("put", `${objects}/key`, { body: randomBytes(MiB), headers: { "cf-r2-storage-class": "Cold" } }))
      .status,
    400,
  );
  await r2.buckets.sweep();
  assert.deepEqual(await keys(), []);
});

test("an aborted download closes the object", { timeout: 60_000 }, async (t) => {
  const { url, objects, stored, call } = await startWithBucket(t);
  await call("put", `${objects}/large`, { body: randomBytes(20 * MiB) });
  const abort = new AbortController();
  const response = await fetch(`${url}${objects}/large`, {
    headers: { authorization: `Bearer ${TEST_TOKEN}` },
    signal: abort.signal,
  });
  await response.body!.getReader().read();
  await call("delete", `${objects}/large`);
  const left = async () => {
    for await (const { key } of stored.list("r2/")) return key;
    return undefined;
  };
  assert.notEqual(await left(), undefined, "an open reader keeps the object");
  abort.abort();
  while ((await left()) !== undefined) await new Promise(setImmediate);
});

test("reports a full disk and stores nothing", async (t) => {
  let full = false;
  const { call, objects, keys } = await startWithBucket(t, {
    wrap: (store) => ({
      ...store,
      put: async (key, ...rest) => {
        if (full) throw storeErrors.diskFull({ what: key });
        return store.put(key, ...rest);
      },
    }),
  });
  full = true;
  const refused = await call("put", `${objects}/key`, { body: randomBytes(5 * MiB) });
  assert.deepEqual([refused.status, refused.body.errors[0].error_chain[0].message], [507, "E_STORE_DISK_FULL"]);
  assert.deepEqual(await keys(), []);
});

test("does not acknowledge a write to a bucket that is being deleted", async (t) => {
  const { url, objects, r2 } = await startWithBucket(t);
  const sent = request(`${url}${objects}/late`, {
    method: "PUT",
    headers: { authorization: `Bearer ${TEST_TOKEN}`, "transfer-encoding": "chunked" },
  });
  const answered = once(sent, "response");
  await new Promise((resolve) => void sent.write(randomBytes(MiB), resolve));
  await r2.bucketList.delete(TEST_ACCOUNT, "bucket");
  sent.end("end");
  const [response] = (await answered) as [{ statusCode: number; resume(): void }];
  response.resume();
  assert.equal(response.statusCode, 404);
});
