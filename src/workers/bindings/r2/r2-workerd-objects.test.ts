import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { openR2Worker } from "./r2-workerd.testing.ts";

// Each entry is one sequence of calls to the bucket; its return value is sent back as JSON.
const conversations = `
  async basics(bucket) {
    const put = await bucket.put("dir/é 🙂", "värde", { ...metadata, storageClass: "InfrequentAccess" });
    const got = await bucket.get("dir/é 🙂");
    const headers = new Headers();
    got.writeHttpMetadata(headers);
    return { put: show(put), head: show(await bucket.head("dir/é 🙂")), got: show(got), text: await got.text(), headers: Object.fromEntries(headers),
      absent: [await bucket.head("absent"), await bucket.get("absent")] };
  },
  async kinds(bucket) {
    const bytes = new TextEncoder().encode("bytes");
    const values = { text: "text", nothing: null, view: bytes, buffer: bytes.buffer.slice(0), blob: new Blob(["blob"]), stream: new Response("stream").body, empty: "" };
    const result = {};
    for (const [key, value] of Object.entries(values)) {
      await bucket.put(key, value);
      result[key] = await (await bucket.get(key)).text();
    }
    await bucket.put("json", '{"a":[1]}');
    result.json = await (await bucket.get("json")).json();
    result.bytes = [...(await (await bucket.get("view")).bytes())];
    result.arrayBuffer = (await (await bucket.get("view")).arrayBuffer()).byteLength;
    result.blobType = (await (await bucket.put("typed", "x", { httpMetadata: new Headers({ "content-type": "a/b", expires: "Thu, 01 Jan 2026 00:00:00 GMT" }) }), await bucket.get("typed")).blob()).type;
    result.expires = (await bucket.head("typed")).httpMetadata.cacheExpiry.toISOString();
    await bucket.put("", "the empty key");
    result.emptyKey = [await (await bucket.get("")).text(), (await bucket.list({ limit: 1 })).objects[0].key];
    await bucket.delete("");
    result.emptyKey.push(await bucket.head(""));
    return result;
  },
  async ranges(bucket) {
    await bucket.put("digits", "0123456789");
    const read = async (range) => { const object = await bucket.get("digits", { range }); return [await object.text(), object.range]; };
    return { offset: await read({ offset: 7 }), length: await read({ length: 2 }), both: await read({ offset: 2, length: 3 }), beyond: await read({ offset: 8, length: 9 }),
      suffix: await read({ suffix: 3 }), zero: await read({ offset: 0 }), header: await read(new Headers({ range: "bytes=4-5" })), several: await read(new Headers({ range: "bytes=1-2,4-5" })), none: await read(new Headers()),
      failures: [await failure(bucket.get("digits", { range: { offset: 10 } })), await failure(bucket.get("digits", { range: { length: 0 } })), await failure(bucket.get("digits", { range: { offset: -1 } }))] };
  },
  async conditions(bucket) {
    const { etag, httpEtag, uploaded } = await bucket.put("key", "1");
    const soon = new Date(uploaded.getTime() + 60000), past = new Date(uploaded.getTime() - 60000);
    const get = async (onlyIf) => { const object = await bucket.get("key", { onlyIf }); return [object.constructor.name, object.body ? await object.text() : null, object.etag === etag]; };
    const put = async (onlyIf, key = "key") => (await bucket.put(key, "1", { onlyIf })) !== null;
    const headers = (init) => new Headers(init);
    return {
      gets: [await get({ etagMatches: etag }), await get({ etagMatches: "other" }), await get({ etagMatches: "*" }), await get({ etagDoesNotMatch: etag }), await get({ etagDoesNotMatch: "other" }),
        await get({ uploadedBefore: soon }), await get({ uploadedBefore: past }), await get({ uploadedAfter: past }), await get({ uploadedAfter: soon }), await get({ uploadedAfter: new Date(-5000) })],
      byHeaders: [await get(headers({ "if-match": httpEtag })), await get(headers({ "if-match": '"other", ' + httpEtag })), await get(headers({ "if-match": "W/" + httpEtag })), await get(headers({ "if-none-match": httpEtag })),
        await get(headers({ "if-none-match": "W/" + httpEtag })), await get(headers({ "if-none-match": '"other"' })), await get(headers({ "if-modified-since": uploaded.toUTCString() })),
        await get(headers({ "if-modified-since": past.toUTCString() })), await get(headers({ "if-unmodified-since": soon.toUTCString() })), await get(headers({ "if-unmodified-since": past.toUTCString() }))],
      puts: [await put({ etagMatches: "other" }), await put({ etagDoesNotMatch: "*" }), await put({ etagMatches: etag }), await put(headers({ "if-none-match": "*" })), await put(headers({ "if-none-match": "*" }), "new key"), await put({ etagMatches: etag }, "absent")],
      streamed: (await bucket.put("key", new Response("x".repeat(300000)).body, { onlyIf: { etagMatches: "other" } })),
      unchanged: await (await bucket.get("key")).text(),
    };
  },
  async checksums(bucket) {
    const value = new TextEncoder().encode("value");
    const sums = { sha1: await crypto.subtle.digest("SHA-1", value), sha256: await crypto.subtle.digest("SHA-256", value), sha384: await crypto.subtle.digest("SHA-384", value), sha512: await crypto.subtle.digest("SHA-512", value), md5: await crypto.subtle.digest("MD5", value) };
    const kept = {};
    for (const [name, sum] of Object.entries(sums)) kept[name] = (await bucket.put("key", value, { [name]: sum })).checksums.toJSON();
    const failures = [];
    for (const [name, sum] of Object.entries(sums)) failures.push(await failure(bucket.put("other", value, { [name]: new Uint8Array(sum.byteLength) })));
    return { kept, failures, other: await bucket.head("other") };
  },
  async deletes(bucket) {
    for (const key of ["a", "b", "c", "d"]) await bucket.put(key, key);
    await bucket.delete("a");
    await bucket.delete("absent");
    await bucket.delete(["b", "absent", "c"]);
    const many = Array.from({ length: 1000 }, (_, i) => String(i).padStart(4, "0").repeat(256));
    await bucket.put(many[999], "");
    await bucket.delete(many);
    return { left: (await bucket.list()).objects.map(({ key }) => key), failures: [await failure(bucket.delete([])), await failure(bucket.delete([...many, "x"])), await failure(bucket.delete(["x".repeat(1025)]))] };
  },
  async limits(bucket) {
    const long = "x".repeat(1025);
    return [await failure(bucket.put(long, "x")), await failure(bucket.get(long)), await failure(bucket.head(long)), await failure(bucket.createMultipartUpload(long)),
      await failure(bucket.put("key", "x", { customMetadata: { key: "x".repeat(8190) } })), await failure(bucket.put("key", new Response("x".repeat(2000000)).body, { customMetadata: { key: "x".repeat(8190) } })),
      await failure(bucket.put("key", "x", { storageClass: "Cold" })), await failure(bucket.put("key", "x", { ssecKey: "00".repeat(32) })), await failure(bucket.put("nul\\0", "x"))];
  },
`;

describe("R2 through workerd", () => {
  const { converse } = openR2Worker(conversations, ["one", "two", "three", "four", "eight"]);

  test("put, get and head preserve all metadata", async () => {
    const { put, head, got, text, headers, absent } = await converse("basics", "one");
    const metadata = {
      httpMetadata: {
        contentType: "text/plain; charset=utf-8",
        contentLanguage: "en",
        contentDisposition: "inline",
        contentEncoding: "br",
        cacheControl: "no-store",
        cacheExpiry: new Date(1900000000000).toISOString(),
      },
      customMetadata: { plain: "x", ключ: "значение 🙂" },
    };
    const md5 = createHash("md5").update("värde").digest("hex");
    const object = {
      type: "HeadResult",
      key: "dir/é 🙂",
      version: put.version,
      size: 6,
      etag: md5,
      httpEtag: `"${md5}"`,
      uploaded: put.uploaded,
      ...metadata,
      checksums: { md5 },
      storageClass: "InfrequentAccess",
      hasBody: false,
    };
    assert.deepEqual(put, object);
    assert.ok(Math.abs(put.uploaded - Date.now()) < 60_000);
    assert.deepEqual(head, { ...object, range: { offset: 0, length: 6 } });
    assert.deepEqual(got, { ...head, type: "GetResult", hasBody: true });
    assert.equal(text, "värde");
    assert.deepEqual(headers, {
      "content-type": "text/plain; charset=utf-8",
      "content-language": "en",
      "content-disposition": "inline",
      "content-encoding": "br",
      "cache-control": "no-store",
      expires: "Sun, 17 Mar 2030 17:46:40 GMT",
    });
    assert.deepEqual(absent, [null, null]);
  });

  test("accepts values of every type, and returns them by every read method", async () => {
    assert.deepEqual(await converse("kinds", "two"), {
      text: "text",
      nothing: "",
      view: "bytes",
      buffer: "bytes",
      blob: "blob",
      stream: "stream",
      empty: "",
      json: { a: [1] },
      bytes: [...Buffer.from("bytes")],
      arrayBuffer: 5,
      blobType: "a/b",
      expires: "2026-01-01T00:00:00.000Z",
      emptyKey: ["the empty key", "", null],
    });
  });

  test("reads ranges", async () => {
    assert.deepEqual(await converse("ranges", "two"), {
      offset: ["789", { offset: 7, length: 3 }],
      length: ["01", { offset: 0, length: 2 }],
      both: ["234", { offset: 2, length: 3 }],
      beyond: ["89", { offset: 8, length: 2 }],
      suffix: ["789", { offset: 7, length: 3 }],
      zero: ["0123456789", { offset: 0, length: 10 }],
      header: ["45", { offset: 4, length: 2 }],
      several: ["0123456789", { offset: 0, length: 10 }],
      none: ["0123456789", { offset: 0, length: 10 }],
      failures: [
        "Error: get: The requested range is not satisfiable (10039)",
        "Error: get: The requested range is not satisfiable (10039)",
        "RangeError: Invalid range. Starting offset (-1) must be greater than or equal to 0.",
      ],
    });
  });

  test("evaluates conditions, given as an object or as headers", async () => {
    const yes = ["GetResult", "1", true];
    const no = ["HeadResult", null, true];
    assert.deepEqual(await converse("conditions", "three"), {
      gets: [yes, no, yes, no, yes, yes, no, yes, no, yes],
      byHeaders: [yes, yes, no, no, no, yes, no, yes, yes, no],
      puts: [false, false, true, false, true, false],
      streamed: null,
      unchanged: "1",
    });
  });

  test("stores and verifies checksums", async () => {
    const sum = (algorithm: string) => createHash(algorithm).update("value").digest("hex");
    const md5 = sum("md5");
    const all = { sha1: sum("sha1"), sha256: sum("sha256"), sha384: sum("sha384"), sha512: sum("sha512"), md5 };
    const { kept, failures, other } = await converse("checksums", "three");
    assert.deepEqual(
      kept,
      Object.fromEntries(Object.entries(all).map(([name, value]) => [name, { md5, [name]: value }])),
    );
    assert.deepEqual(
      failures,
      Object.entries(all).map(([name, value]) => {
        const text = name.toUpperCase().replace("SHA", "SHA-");
        return `Error: put: The ${text} checksum you specified did not match what we received.\nYou provided a ${text} checksum with value: ${"0".repeat(value.length)}\nActual ${text} was: ${value} (10037)`;
      }),
    );
    assert.equal(other, null);
  });

  test("deletes one object or many", async () => {
    const { left, failures } = await converse("deletes", "four");
    assert.deepEqual(left, ["d"]);
    assert.deepEqual(failures, [
      "Error: delete: The number of keys in the request must be between 1 and 1000 inclusive. (10027)",
      "Error: delete: The number of keys in the request must be between 1 and 1000 inclusive. (10027)",
      "Error: delete: The specified object name is not valid. (10020)",
    ]);
  });

  test("enforces limits, even while a body is still arriving", async () => {
    assert.deepEqual(await converse("limits", "eight"), [
      ...["put", "get", "head", "createMultipartUpload"].map(
        (method) => `Error: ${method}: The specified object name is not valid. (10020)`,
      ),
      "Error: put: Your metadata headers exceed the maximum allowed metadata size. (10012)",
      "Error: put: Your metadata headers exceed the maximum allowed metadata size. (10012)",
      "Error: put: The storage class Cold is not valid: use Standard or InfrequentAccess. (10029)",
      "Error: put: Encryption with a customer key (ssecKey) is not supported. (10029)",
      "Error: put: The specified object name is not valid. (10020)",
    ]);
  });
});
