import assert from "node:assert/strict";
import { test } from "node:test";
import { codes, openZonesApi } from "./zones.testing.ts";

test("rejects invalid zone file uploads", async (t) => {
  const { call, zone } = await openZonesApi(t);
  const base = `/zones/${await zone()}/dns_records`;
  const send = async (file: string | File | undefined, fields: Record<string, string> = {}) => {
    const form = new FormData();
    if (file !== undefined) form.set("file", file);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return call("post", `${base}/import`, { body: form });
  };
  assert.deepEqual(codes(await send(undefined, { proxied: "true" })).slice(0, 2), [400, 9208]);
  assert.deepEqual(codes(await send(new File([new Uint8Array([0x61, 0xff])], "x"))).slice(0, 2), [400, 9208]);
  assert.deepEqual(codes(await call("post", `${base}/import`, { body: "www A 192.0.2.1" })).slice(0, 2), [400, 10021]);
  const bad = await send("www A 192.0.2.1\nwww A nonsense\n");
  assert.deepEqual(codes(bad), [400, 9207, 9207]);
  assert.match(bad.body.errors[0].error_chain[0].message, /^line 2: address: it is not an IPv4 address/);
  assert.deepEqual((await send("www A 192.0.2.1\n", { proxied: "true" })).body.result, {
    recs_added: 1,
    total_records_parsed: 1,
  });
  assert.equal((await call("get", base)).body.result[0].proxied, true);
  const exported = await call("get", `${base}/export`);
  assert.match(exported.headers.get("content-type")!, /^text\/plain/);
  assert.match(exported.text, /^www\.example\.com\.\t1\tIN\tA\t192\.0\.2\.1 ; cf_tags=cf-proxied:true$/m);
  assert.match(exported.text, /^example\.com\.\t86400\tIN\tNS\tns1\.reelpost\.example\.$/m);
});

test("a DNS scan finds no records", async (t) => {
  const { call, zone } = await openZonesApi(t);
  const base = `/zones/${await zone()}/dns_records`;
  assert.deepEqual((await call("post", `${base}/scan`)).body.result, { recs_added: 0, total_records_parsed: 0 });
  assert.equal((await call("post", `${base}/scan/trigger`)).status, 200);
  assert.deepEqual((await call("get", `${base}/scan/review`)).body.result, []);
  assert.deepEqual((await call("post", `${base}/scan/review`, { body: { accepts: [], rejects: [] } })).body.result, {
    accepts: [],
    rejects: [],
  });
  assert.deepEqual(
    codes(await call("post", `${base}/scan/review`, { body: { rejects: [{ id: "x" }] } })).slice(0, 2),
    [404, 81044],
  );
});
