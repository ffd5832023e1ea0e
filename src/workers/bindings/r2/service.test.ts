import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, createServer, request, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import { createLog } from "../../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite, type Db, type ObjectStore } from "../../../store/index.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { r2Migrations } from "./r2-table.ts";
import { createR2Service, type R2Service } from "./service.ts";

interface Answer {
  status: number | undefined;
  error: { version: number; v4code: number; message: string } | undefined;
  metadata: string;
  bytes: string;
}

describe("the R2 binding's protocol", () => {
  let folder: string;
  let db: Db;
  let server: Server;
  let service: R2Service;
  let script = {} as WorkerScript;
  let failing = false;
  const logged: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "r2-"));
    db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, r2Migrations);
    const objects = await openFsObjects({ folder: join(folder, "objects") });
    const log = createLog({
      destination: { write: (line: string) => logged.push(line) } as unknown as NodeJS.WritableStream,
    });
    service = createR2Service({ db, objects: breakable(objects, () => failing), log });
    server = createServer(
      { maxHeaderSize: 64 * 1024 },
      (request, response) =>
        void service.handle(request, response, {
          script,
          binding: { type: "r2_bucket", name: "B", bucket_name: "bucket" },
        }),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(async () => {
    agent.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function send(
    method: string,
    headers: Record<string, string>,
    body: Buffer = Buffer.alloc(0),
  ): Promise<Answer> {
    const sent = request({ agent, method, port: (server.address() as AddressInfo).port, host: "127.0.0.1", headers });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const all = Buffer.concat(await response.toArray());
    const size = Number(response.headers["cf-r2-metadata-size"] ?? 0);
    const error = response.headers["cf-r2-error"];
    return {
      status: response.statusCode,
      error: typeof error === "string" ? JSON.parse(error) : undefined,
      metadata: all.subarray(0, size).toString(),
      bytes: all.subarray(size).toString(),
    };
  }
  const get = (wanted: unknown) =>
    send("GET", {
      "cf-r2-request": typeof wanted === "string" ? wanted : Buffer.from(JSON.stringify(wanted)).toString("latin1"),
    });
  const put = (wanted: unknown, bytes = "", headers: Record<string, string> = {}) => {
    const head = Buffer.from(typeof wanted === "string" ? wanted : JSON.stringify(wanted));
    return send(
      "PUT",
      { "cf-r2-metadata-size": String(head.length), ...headers },
      Buffer.concat([head, Buffer.from(bytes)]),
    );
  };

  test("an object is sent and received after its metadata", async () => {
    const stored = await put(
      {
        version: 1,
        method: "put",
        object: "ключ",
        httpFields: { contentType: "a/b", cacheExpiry: "18446744073709551000" },
      },
      "värde",
    );
    assert.equal(stored.status, 200);
    const { version, uploaded, ...rest } = JSON.parse(stored.metadata) as Record<string, unknown>;
    assert.match(`${String(version)} ${String(uploaded)}`, /^[0-9a-f]{32} \d{13}$/);
    const md5 = createHash("md5").update("värde").digest("hex");
    // 64-bit integers are strings; a time before 1970 is returned unchanged.
    assert.deepEqual(rest, {
      name: "ключ",
      size: "6",
      etag: md5,
      storageClass: "Standard",
      httpFields: { contentType: "a/b", cacheExpiry: "18446744073709551000" },
      customFields: [],
      checksums: { 0: md5 },
    });
    const found = await get({ method: "get", object: "ключ", range: { offset: "1", length: "2" } });
    assert.deepEqual([found.bytes, JSON.parse(found.metadata).range], ["ä", { offset: "1", length: "2" }]);
    assert.deepEqual((await get({ method: "list" })).status, 200);
  });

  test("returns 404 with code 10007 for an absent object, and 412 with the metadata for a failed condition", async () => {
    for (const method of ["head", "get"]) {
      const { status, error } = await get({ method, object: "absent" });
      assert.deepEqual(
        [status, error],
        [404, { version: 1, v4code: 10007, message: "The specified key does not exist." }],
      );
    }
    await put({ method: "put", object: "key" }, "value");
    const { status, error, metadata, bytes } = await get({
      method: "get",
      object: "key",
      onlyIf: { etagDoesNotMatch: [{ type: "wildcard" }] },
    });
    assert.deepEqual([status, error?.v4code, JSON.parse(metadata).name, bytes], [412, 10031, "key", ""]);
  });

  test("a worker of an account can access only the account's existing buckets", async () => {
    const account = "a".repeat(32);
    script = { account } as WorkerScript;
    try {
      const absent = await put({ method: "put", object: "key" }, "value");
      assert.deepEqual([absent.status, absent.error?.v4code], [404, 10006]);
      assert.equal((await get({ method: "list" })).error?.v4code, 10006);
      const { id } = await service.bucketList.create(account, "bucket", { storageClass: "InfrequentAccess" });
      assert.equal(
        JSON.parse((await put({ method: "put", object: "key" }, "value")).metadata).storageClass,
        "InfrequentAccess",
      );
      assert.equal(
        JSON.parse((await put({ method: "put", object: "other", storageClass: "Standard" }, "value")).metadata)
          .storageClass,
        "Standard",
      );
      assert.equal((await service.buckets.list(id)).objects.length, 2);
      assert.equal((await get({ method: "get", object: "key" })).bytes, "value");
      script = { account: "b".repeat(32) } as WorkerScript;
      assert.equal((await get({ method: "get", object: "key" })).error?.v4code, 10006);
    } finally {
      script = {} as WorkerScript;
    }
  });

  test("rejects malformed requests with a specific error", async () => {
    const codes = async (response: Promise<Answer>) => response.then(({ status, error }) => [status, error?.v4code]);
    for (const wanted of [
      "",
      "{",
      "[]",
      "null",
      "{}",
      '{"method":"format"}',
      '{"method":"get","object":5}',
      '{"method":"get","range":{"offset":"-1"}}',
      '{"method":"put","object":"x"}',
      '{"method":"list","include":[2]}',
    ])
      assert.deepEqual(await codes(get(wanted)), [400, 10029], wanted);
    assert.deepEqual(await codes(send("GET", {})), [400, 10029]);
    for (const wanted of [
      "{",
      '{"method":"head","object":"x"}',
      '{"method":"put","md5":"not base64"}',
      '{"method":"put","sha1":"xyz"}',
    ])
      assert.deepEqual(await codes(put(wanted, "bytes")), [400, 10029], wanted);
    for (const size of ["", "0", "-1", "x", "99999999"])
      assert.deepEqual(await codes(put("{}", "bytes", { "cf-r2-metadata-size": size })), [400, 10029], size);
    assert.deepEqual(await codes(put("{}", "", { "cf-r2-metadata-size": "50" })), [411, 10033]);
    assert.deepEqual(await codes(put("{}", "", { "transfer-encoding": "chunked" })), [411, 10033]);
    assert.deepEqual(await codes(send("DELETE", {})), [400, 10029]);
    assert.deepEqual(await codes(put({ method: "put", object: "x", ssec: { key: "00" } }, "secret")), [400, 10029]);
    assert.deepEqual(logged, []);
  });

  test("reads the body to the end after a rejection, so that the connection stays usable", async () => {
    const connections = new Set<unknown>();
    server.on("connection", (socket) => connections.add(socket));
    for (let i = 0; i < 5; i++) {
      assert.equal(
        (await put({ method: "put", object: "x".repeat(1025) }, "b".repeat(3_000_000))).error?.v4code,
        10020,
      );
      assert.equal((await put({ method: "put", object: "fine" }, "b")).status, 200);
    }
    assert.equal(connections.size, 0, "all requests used the existing connection");
  });

  test("escapes text that a header cannot contain", async () => {
    const { error } = await put({ method: "put", object: "key", storageClass: "Кальт 🥶\n" }, "x");
    assert.match(error?.message ?? "", /Кальт 🥶\n/);
  });

  test("hides internal errors, and breaks the connection after sending part of an object", async () => {
    await put({ method: "put", object: "large" }, "x".repeat(3_000_000));
    failing = true;
    try {
      const { status, error } = await put({ method: "put", object: "key" }, "value");
      assert.deepEqual(
        [status, error],
        [500, { version: 1, v4code: 10001, message: "We encountered an internal error. Please try again." }],
      );
      await assert.rejects(get({ method: "get", object: "large" }), { code: "ECONNRESET" });
    } finally {
      failing = false;
    }
    assert.equal(logged.filter((line) => line.includes("disk failure")).length, 2);
    logged.length = 0;
    assert.equal((await get({ method: "get", object: "large" })).bytes.length, 3_000_000);
  });

  test("no request crashes the service", async () => {
    const scalar = fc.oneof(fc.string(), fc.nat(), fc.constantFrom("0", "5", "-1", "99999999999999999999", true, null));
    const fields = fc.constantFrom(
      "object",
      "objects",
      "range",
      "rangeHeader",
      "onlyIf",
      "limit",
      "prefix",
      "cursor",
      "delimiter",
      "startAfter",
      "include",
      "uploadId",
      "partNumber",
      "parts",
      "md5",
      "customFields",
      "httpFields",
      "storageClass",
    );
    const methods = fc.constantFrom(
      "head",
      "get",
      "put",
      "list",
      "delete",
      "createMultipartUpload",
      "uploadPart",
      "completeMultipartUpload",
      "abortMultipartUpload",
      "other",
    );
    const wanted = fc.tuple(
      methods,
      fc.dictionary(
        fields,
        fc.oneof(
          scalar,
          fc.array(scalar, { maxLength: 3 }),
          fc.dictionary(
            fc.constantFrom("offset", "length", "suffix", "etag", "part", "k", "v", "etagMatches", "uploadedAfter"),
            scalar,
          ),
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(wanted, fc.boolean(), async ([method, rest], asGet) => {
        const { status, error } = await (asGet ? get : put)({ method, ...rest });
        assert.ok(status === 200 || (status! >= 400 && error!.v4code > 10001), `${status} ${JSON.stringify(error)}`);
      }),
      { numRuns: 400 },
    );
    assert.deepEqual(logged, []);
  });
});

/** Returns a store that behaves like `objects` until `fails()` returns true. */
const breakable = (objects: ObjectStore, fails: () => boolean): ObjectStore => ({
  ...objects,
  put: async (...args) => (fails() ? Promise.reject(new Error("disk failure")) : objects.put(...args)),
  async open(key) {
    const handle = await objects.open(key);
    const half = async function* () {
      yield Buffer.alloc(1000);
      throw new Error("disk failure");
    };
    return handle && fails() ? { ...handle, read: () => Readable.from(half()) } : handle;
  },
});
