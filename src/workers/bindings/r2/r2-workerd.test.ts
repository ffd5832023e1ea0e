import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startWorkerd, type RunningWorkerd } from "../../../../test/support/workerd.ts";
import { migrate, openFsObjects, openSqlite, type Db } from "../../../store/index.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { r2Migrations } from "./r2-table.ts";
import { createR2Service, type R2Service } from "./service.ts";

const MiB = 1024 * 1024;

// Each export is one sequence of calls to the bucket; its return value is sent back as JSON.
const worker = `
const show = (object) => object && {
  type: object.constructor.name, key: object.key, version: object.version, size: object.size, etag: object.etag, httpEtag: object.httpEtag,
  uploaded: object.uploaded.getTime(), httpMetadata: object.httpMetadata, customMetadata: object.customMetadata, range: object.range,
  checksums: object.checksums.toJSON(), storageClass: object.storageClass, hasBody: "body" in object && object.body !== undefined,
};
const failure = async (promise) => promise.then(() => "no failure", (err) => err.name + ": " + err.message);
const metadata = { httpMetadata: { contentType: "text/plain; charset=utf-8", contentLanguage: "en", contentDisposition: "inline", contentEncoding: "br", cacheControl: "no-store", cacheExpiry: new Date(1900000000000) },
  customMetadata: { plain: "x", "ключ": "значение 🙂" } };

const conversations = {
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
  async lists(bucket) {
    for (const key of ["b", "a/1", "a/2", "B", "é", "c", "🙂"]) await bucket.put(key, key, { httpMetadata: { contentType: "t/" + encodeURI(key) }, customMetadata: { key } });
    const keys = ({ objects, truncated, delimitedPrefixes }) => [objects.map(({ key }) => key), truncated, delimitedPrefixes];
    const first = await bucket.list({ limit: 3 });
    const second = await bucket.list({ cursor: first.cursor });
    const one = async (include) => { const { objects: [object] } = await bucket.list({ prefix: "c", include }); return [object.httpMetadata, object.customMetadata]; };
    return { all: keys(await bucket.list()), pages: [keys(first), keys(second), "cursor" in second && second.cursor !== undefined], folded: keys(await bucket.list({ delimiter: "/" })), prefix: keys(await bucket.list({ prefix: "a/" })),
      startAfter: keys(await bucket.list({ startAfter: "a/1", limit: 2 })), plain: await one(undefined), none: await one([]), http: await one(["httpMetadata"]), both: await one(["httpMetadata", "customMetadata"]),
      shown: show((await bucket.list({ prefix: "b" })).objects[0]), failures: [await failure(bucket.list({ limit: 0 })), await failure(bucket.list({ limit: 1001 })), await failure(bucket.list({ cursor: "bad" }))] };
  },
  async longList(bucket) {
    // Objects whose metadata as JSON is several times what workerd reads of one answer.
    const long = "\\u0001".repeat(2040);
    await Promise.all(Array.from({ length: 120 }, (_, i) => bucket.put("x".repeat(1000) + i, "", { customMetadata: { long } })));
    let options = { include: ["customMetadata"] }, pages = 0, seen = 0, page;
    do {
      page = await bucket.list(options);
      pages++;
      seen += page.objects.length;
      options = { ...options, cursor: page.cursor };
    } while (page.truncated);
    return { pages, seen };
  },
  async multipart(bucket, request) {
    const part = (fill, size = 5 * 1024 * 1024) => new Uint8Array(size).fill(fill);
    const upload = await bucket.createMultipartUpload("big", { ...metadata, storageClass: "InfrequentAccess" });
    const one = await upload.uploadPart(1, part(1));
    const resumed = bucket.resumeMultipartUpload("big", upload.uploadId);
    const three = await resumed.uploadPart(3, new Blob(["tail"]));
    const two = await resumed.uploadPart(2, new Response(part(2)).body);
    const before = await bucket.head("big");
    const wrongEtag = await failure(upload.complete([one, { partNumber: 2, etag: "bad" }, three]));
    const object = await resumed.complete([three, one, two]);
    const got = await bucket.get("big", { range: { offset: 5 * 1024 * 1024 - 2, length: 4 } });
    const suffix = await bucket.get("big", { range: { suffix: 6 } });
    const whole = await (await bucket.get("big")).arrayBuffer();
    const small = await bucket.createMultipartUpload("small");
    const parts = [await small.uploadPart(1, "too small"), await small.uploadPart(2, "x")];
    const unequal = await bucket.createMultipartUpload("unequal");
    const unequalParts = [await unequal.uploadPart(1, part(1)), await unequal.uploadPart(2, part(2, 5 * 1024 * 1024 + 1)), await unequal.uploadPart(3, "x")];
    const failures = { wrongEtag, again: await failure(upload.complete([one])), small: await failure(small.complete(parts)), unequal: await failure(unequal.complete(unequalParts)), number: await failure(upload.uploadPart(0, "x")),
      unknown: await failure(bucket.resumeMultipartUpload("big", "nonsense").uploadPart(1, "x")), unknownAbort: await failure(bucket.resumeMultipartUpload("big", "nonsense").abort()) };
    await small.abort();
    await small.abort();
    await unequal.abort();
    failures.aborted = await failure(small.uploadPart(3, "x"));
    return { parts: [one, two, three], before, object: show(object), head: show(await bucket.head("big")), around: [...await got.bytes()], aroundRange: got.range, suffix: await suffix.text(), whole: whole.byteLength, failures, small: await bucket.head("small") };
  },
  async limits(bucket) {
    const long = "x".repeat(1025);
    return [await failure(bucket.put(long, "x")), await failure(bucket.get(long)), await failure(bucket.head(long)), await failure(bucket.createMultipartUpload(long)),
      await failure(bucket.put("key", "x", { customMetadata: { key: "x".repeat(8190) } })), await failure(bucket.put("key", new Response("x".repeat(2000000)).body, { customMetadata: { key: "x".repeat(8190) } })),
      await failure(bucket.put("key", "x", { storageClass: "Cold" })), await failure(bucket.put("key", "x", { ssecKey: "00".repeat(32) })), await failure(bucket.put("nul\\0", "x"))];
  },
  async streamIn(bucket, request) {
    return show(await bucket.put("stream", request.body));
  },
  async streamOut(bucket, request) {
    const offset = Number(new URL(request.url).searchParams.get("offset") ?? 0);
    return new Response((await bucket.get("stream", { range: { offset } })).body);
  },
  async copy(bucket) {
    await bucket.put("copy", (await bucket.get("stream")).body);
    return show(await bucket.head("copy"));
  },
  async giveUp(bucket) {
    const reader = (await bucket.get("stream")).body.getReader();
    const { value } = await reader.read();
    await reader.cancel("enough");
    return value.byteLength > 0;
  },
  async wrongLength(bucket) {
    const send = async (announced, chunks, end) => {
      const { readable, writable } = new FixedLengthStream(announced);
      const writing = (async () => {
        const writer = writable.getWriter();
        for (const chunk of chunks) await writer.write(new Uint8Array(chunk));
        await end(writer);
      })();
      const [put, wrote] = await Promise.all([failure(bucket.put("wrong", readable)), failure(writing)]);
      return put !== "no failure" || wrote !== "no failure" ? [put, wrote] : "accepted";
    };
    return { shorter: await send(1000000, [400000, 100000], (writer) => writer.close()), longer: await send(1000000, [900000, 200000], (writer) => writer.close()), aborted: await send(1000000, [400000], (writer) => writer.abort(new Error("given up"))),
      unknown: await failure(bucket.put("wrong", new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); c.close(); } }))), stored: await bucket.head("wrong") };
  },
  async after(bucket) {
    await bucket.put("still", "alive");
    return (await bucket.get("still")).text();
  },
};

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const [, name, bucket] = pathname.split("/");
    const result = await conversations[name](env[bucket], request);
    return result instanceof Response ? result : Response.json(result ?? null);
  },
};
`;

const buckets = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

describe("R2 through workerd", () => {
  let folder: string;
  let db: Db;
  let service: R2Service;
  let workerd: RunningWorkerd;
  /** Every stored blob of every bucket. */
  let blobs: () => Promise<string[]>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "r2-"));
    db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, r2Migrations);
    const objects = await openFsObjects({ folder: join(folder, "objects") });
    service = createR2Service({ db, objects });
    blobs = async () => {
      await service.buckets.close();
      const names = [];
      for await (const { key } of objects.list("r2/")) names.push(key);
      return names;
    };
    const script = {} as WorkerScript;
    workerd = await startWorkerd({
      modules: { "worker.js": worker },
      bindings: buckets.map((name) => `(name = "${name}", r2Bucket = "${name}")`).join(", "),
      services: Object.fromEntries(
        buckets.map((name) => [
          name,
          (request, response) =>
            void service.handle(request, response, {
              script,
              binding: { type: "r2_bucket", name, bucket_name: `bucket-${name}` },
            }),
        ]),
      ),
    });
  });
  after(async () => {
    await workerd?.close();
    await service?.buckets.close();
    await db?.close();
    await rm(folder, { recursive: true, force: true });
  });

  // oxlint-disable-next-line no-explicit-any -- each conversation returns another type
  async function converse(name: string, bucket: string, init?: RequestInit): Promise<any> {
    const response = await workerd.fetch(`/${name}/${bucket}`, init);
    const body = await response.text();
    assert.equal(response.status, 200, `${body}\n${workerd.output()}`);
    return JSON.parse(body);
  }

  test("put, get and head with all metadata", async () => {
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

  test("values of every type, and every method to read one", async () => {
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

  test("ranges", async () => {
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

  test("conditions, as an object and as headers", async () => {
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

  test("checksums", async () => {
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

  test("delete one and many", async () => {
    const { left, failures } = await converse("deletes", "four");
    assert.deepEqual(left, ["d"]);
    assert.deepEqual(failures, [
      "Error: delete: The number of keys in the request must be between 1 and 1000 inclusive. (10027)",
      "Error: delete: The number of keys in the request must be between 1 and 1000 inclusive. (10027)",
      "Error: delete: The specified object name is not valid. (10020)",
    ]);
  });

  test("list: pages, prefixes, delimiters, metadata", async () => {
    const { shown, ...rest } = await converse("lists", "five");
    assert.deepEqual(rest, {
      all: [["B", "a/1", "a/2", "b", "c", "é", "🙂"], false, []],
      pages: [[["B", "a/1", "a/2"], true, []], [["b", "c", "é", "🙂"], false, []], false],
      folded: [["B", "b", "c", "é", "🙂"], false, ["a/"]],
      prefix: [["a/1", "a/2"], false, []],
      startAfter: [["a/2", "b"], true, []],
      plain: [null, null],
      none: [null, null],
      http: [{ contentType: "t/c" }, null],
      both: [{ contentType: "t/c" }, { key: "c" }],
      failures: [
        "Error: list: MaxKeys params must be positive integer <= 1000. (10022)",
        "Error: list: MaxKeys params must be positive integer <= 1000. (10022)",
        "Error: list: The cursor is invalid. (10029)",
      ],
    });
    assert.deepEqual(
      [shown.key, shown.size, shown.type, shown.storageClass, shown.range],
      ["b", 1, "HeadResult", "Standard", undefined],
    );
  });

  test("splits a list that is too large for one response into more pages", async () => {
    const { pages, seen } = await converse("longList", "six");
    assert.equal(seen, 120);
    assert.ok(pages > 1, `${pages} pages`);
  });

  test("multipart: create, resume, upload, complete, abort, and rejections", async () => {
    const { parts, before, object, head, around, aroundRange, suffix, whole, failures, small } = await converse(
      "multipart",
      "seven",
    );
    const sums = [Buffer.alloc(5 * MiB, 1), Buffer.alloc(5 * MiB, 2), Buffer.from("tail")].map((part) =>
      createHash("md5").update(part).digest(),
    );
    assert.deepEqual(
      parts,
      sums.map((sum, index) => ({ partNumber: index + 1, etag: sum.toString("hex") })),
    );
    assert.equal(before, null);
    assert.equal(object.etag, `${createHash("md5").update(Buffer.concat(sums)).digest("hex")}-3`);
    assert.deepEqual(
      [object.size, object.checksums, object.storageClass, object.customMetadata.plain],
      [10 * MiB + 4, {}, "InfrequentAccess", "x"],
    );
    assert.deepEqual(head, { ...object, range: { offset: 0, length: 10 * MiB + 4 } });
    assert.deepEqual(
      [around, aroundRange, suffix, whole],
      [[1, 1, 2, 2], { offset: 5 * MiB - 2, length: 4 }, "\u0002\u0002tail", 10 * MiB + 4],
    );
    assert.deepEqual(failures, {
      wrongEtag: "Error: completeMultipartUpload: One or more of the specified parts could not be found. (10025)",
      again: "Error: completeMultipartUpload: The specified multipart upload does not exist. (10024)",
      small:
        "Error: completeMultipartUpload: Your proposed upload is smaller than the minimum allowed object size. (10011)",
      unequal: "Error: completeMultipartUpload: All non-trailing parts must have the same length. (10048)",
      number: "TypeError: Part number must be between 1 and 10000 (inclusive). Actual value was: 0",
      unknown: "Error: uploadPart: The specified multipart upload does not exist. (10024)",
      unknownAbort: "Error: abortMultipartUpload: The specified multipart upload does not exist. (10024)",
      aborted: "Error: uploadPart: The specified multipart upload does not exist. (10024)",
    });
    assert.equal(small, null);
  });

  test("limits, also for a body that is still arriving", async () => {
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

  test("50 MiB are streamed in, out, from inside the worker, and from bucket to bucket", async () => {
    const bytes = randomBytes(50 * MiB);
    const put = await converse("streamIn", "nine", { method: "PUT", body: bytes });
    assert.deepEqual([put.size, put.etag], [50 * MiB, createHash("md5").update(bytes).digest("hex")]);
    const read = async (offset: number) =>
      Buffer.from(await (await workerd.fetch(`/streamOut/nine?offset=${offset}`)).arrayBuffer());
    assert.ok((await read(0)).equals(bytes));
    assert.ok((await read(49 * MiB + 3)).equals(bytes.subarray(49 * MiB + 3)));
    assert.deepEqual((await converse("copy", "nine")).etag, put.etag);
    assert.equal(await converse("giveUp", "nine"), true);
    assert.equal((await blobs()).filter((key) => key.startsWith("r2/bucket-nine/")).length, 2);
  });

  test("stores nothing from a stream shorter or longer than announced, and the binding keeps working", async () => {
    const before = await blobs();
    const { shorter, longer, aborted, unknown, stored } = await converse("wrongLength", "ten");
    assert.equal(shorter[0], "TypeError: FixedLengthStream did not see all expected bytes before close().");
    assert.equal(longer[0], "TypeError: Attempt to write too many bytes through a FixedLengthStream.");
    assert.equal(aborted[0], "Error: given up");
    assert.match(unknown, /^TypeError: Provided readable stream must have a known length/);
    assert.equal(stored, null);
    assert.deepEqual(await blobs(), before);
    assert.equal(await converse("after", "ten"), "alive");
  });
});
