import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import { ListMultipartUploadsCommand } from "@aws-sdk/client-s3";
import { onEveryDatabase, type TestEngine } from "../../../../test/support/databases.ts";
import { startFaultyS3, type FaultyS3, type S3Fault } from "../../../../test/support/faulty-s3.ts";
import { createS3Client, onS3, type TestBucket } from "../../../../test/support/radosgw.ts";
import type { UserError } from "../../../kernel/index.ts";
import { isStoreError } from "../../errors.ts";
import { keysOf, pieces, read } from "../objects.testing.ts";
import { objectsMigrations } from "../partials-table.ts";
import { openTestObjects } from "./s3.testing.ts";
import type { S3Objects } from "./s3.ts";

const MIB = 1024 * 1024;
const PART = 5 * MIB;

type OpenBucket = (scope: TestContext) => Promise<TestBucket>;

async function throughProxy(
  t: TestContext,
  engine: TestEngine,
  openBucket: OpenBucket,
): Promise<{ proxy: FaultyS3; objects: S3Objects; bucket: TestBucket }> {
  const { db } = await engine.open(t, objectsMigrations);
  const bucket = await openBucket(t);
  const proxy = await startFaultyS3(t, bucket.endpoint);
  const url = bucket.url.replace(encodeURIComponent(bucket.endpoint), encodeURIComponent(proxy.endpoint));
  return { proxy, objects: await openTestObjects(t, { ...bucket, url }, db, { partBytes: PART }), bucket };
}

/** Returns the fault for the first `count` requests that match, and counts all that match. */
function first(count: number, fault: S3Fault, matches: Parameters<typeof Array.prototype.filter>[0] = () => true) {
  let seen = 0;
  const decide: FaultyS3["fault"] = (request) =>
    (matches as (request: unknown) => boolean)(request) && seen++ < count ? fault : undefined;
  return { decide, seen: () => seen };
}

type Seen = Parameters<FaultyS3["fault"]>[0];
const isCompletion = ({ method, query }: Seen) => method === "POST" && query.has("uploadId");

onS3((openBucket) => {
  onEveryDatabase((engine) => {
    // Faults of S3 do not depend on the database.
    if (engine.name !== "sqlite") return;

    describe("the S3 driver with a faulty server", () => {
      const faults: Record<string, S3Fault> = {
        "delays of 2 s": { kind: "delay", ms: 2000 },
        "503 responses": { kind: "status", status: 503, code: "ServiceUnavailable" },
        SlowDown: { kind: "status", status: 503, code: "SlowDown" },
        "connection resets": { kind: "reset" },
        "lost responses": { kind: "lost response" },
      };
      for (const [name, fault] of Object.entries(faults)) {
        test(`survives ${name}`, async (t) => {
          const { proxy, objects } = await throughProxy(t, engine, openBucket);
          const bytes = randomBytes(600_000);
          // Every second request fails.
          const everyOther = () => {
            let count = 0;
            proxy.fault = () => (count++ % 2 === 0 ? fault : undefined);
          };
          const steps: (() => Promise<unknown>)[] = [
            () => objects.put("a/1", bytes),
            async () => assert.equal(Buffer.compare((await read(objects, "a/1"))!, bytes), 0),
            () => objects.copy("a/1", "a/2"),
            async () => assert.deepEqual(await keysOf(objects), ["a/1", "a/2"]),
            () => objects.delete(["a/1", "a/2"]),
            async () => assert.equal(await objects.open("a/1"), undefined),
          ];
          for (const step of steps) {
            everyOther();
            await step();
          }
        });
      }

      test("survives 503 responses to 5% of the requests of a multipart upload", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        let count = 0;
        proxy.fault = () =>
          ++count % 20 === 3 ? { kind: "status", status: 503, code: "ServiceUnavailable" } : undefined;
        const bytes = randomBytes(20 * MIB);
        for (let round = 0; round < 3; round++) await objects.put(`a/${round}`, pieces(bytes, MIB));
        for (let round = 0; round < 3; round++)
          assert.equal(Buffer.compare((await read(objects, `a/${round}`))!, bytes), 0);
      });

      test("resumes a read after a response that ended early", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        const bytes = randomBytes(3 * MIB);
        await objects.put("a", bytes);
        proxy.fault = first(
          3,
          { kind: "truncated", bytes: 700_000 },
          (request: Seen) => request.method === "GET",
        ).decide;
        assert.equal(Buffer.compare(await buffer((await objects.open("a"))!.read()), bytes), 0);
        proxy.fault = first(2, { kind: "truncated", bytes: 1000 }).decide;
        assert.equal(Buffer.compare((await read(objects, "a"))!, bytes), 0);
      });

      test("closes the connection of a reader that stops, without another request", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        await objects.put("a", randomBytes(8 * MIB));
        const before = proxy.requests;
        const stream = (await objects.open("a"))!.read().on("error", () => {});
        let received = 0;
        stream.on("data", (chunk: Buffer) => {
          if ((received += chunk.length) > 300_000) stream.destroy(new Error("the viewer left"));
        });
        await new Promise((resolve) => stream.once("close", resolve));
        // One request by open(), and one for the rest.
        assert.equal(proxy.requests - before, 2);
      });

      test("repeats a request if a 200 response contains an error", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        const bytes = randomBytes(20 * MIB);
        const failed = { kind: "200 with an error" } as const;
        const completion = first(1, failed, isCompletion);
        proxy.fault = completion.decide;
        await objects.put("a", pieces(bytes, MIB));
        assert.ok(completion.seen() >= 1);
        assert.equal(Buffer.compare((await read(objects, "a"))!, bytes), 0);
        proxy.fault = first(1, failed, ({ method }: Seen) => method === "PUT").decide;
        await objects.copy("a", "b");
        proxy.fault = first(1, failed, ({ query }: Seen) => query.has("list-type")).decide;
        assert.deepEqual(await keysOf(objects), ["a", "b"]);
        proxy.fault = first(1, failed, ({ query }: Seen) => query.has("delete")).decide;
        await objects.delete(["a", "b"]);
        assert.deepEqual(await keysOf(objects), []);
      });

      test("completes a partial object only once, even if the response is lost", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        const bytes = randomBytes(PART + MIB);
        await objects.partial("a").append(0, pieces(bytes, MIB));
        const completion = first(1, { kind: "lost response" }, isCompletion);
        proxy.fault = completion.decide;
        await objects.partial("a").complete(bytes.length);
        // The completed object was found, so the request was not repeated.
        assert.equal(completion.seen(), 1);
        assert.equal(Buffer.compare((await read(objects, "a"))!, bytes), 0);
        assert.equal(await objects.partial("a").size(), 0);
      });

      test("repeats a completion while the server locks the upload", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        const bytes = randomBytes(PART + MIB);
        await objects.partial("a").append(0, pieces(bytes, MIB));
        // Ceph responds with 500 for ten minutes after an interrupted completion.
        const completion = first(5, { kind: "status", status: 500, code: "InternalError" }, isCompletion);
        proxy.fault = completion.decide;
        await objects.partial("a").complete(bytes.length);
        assert.equal(completion.seen(), 6);
        assert.equal(Buffer.compare((await read(objects, "a"))!, bytes), 0);
      });

      test("aborts a multipart upload that fails, and keeps the previous object", async (t) => {
        const { proxy, objects, bucket } = await throughProxy(t, engine, openBucket);
        await objects.put("a", Buffer.from("before"));
        proxy.fault = ({ query }) =>
          query.get("partNumber") === "2" ? { kind: "status", status: 403, code: "AccessDenied" } : undefined;
        await assert.rejects(objects.put("a", pieces(randomBytes(20 * MIB), MIB)), (err) =>
          isStoreError(err, "objectsDenied"),
        );
        assert.equal(String(await read(objects, "a")), "before");
        const client = createS3Client(bucket);
        t.after(() => client.destroy());
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket.bucket }));
        assert.deepEqual(Uploads, []);
      });

      test("copies a large object in parts, and leaves nothing behind if its source is replaced", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const proxy = await startFaultyS3(t, bucket.endpoint);
        const url = bucket.url.replace(encodeURIComponent(bucket.endpoint), encodeURIComponent(proxy.endpoint));
        const objects = await openTestObjects(t, { ...bucket, url }, db, { copyPartBytes: PART });
        const bytes = randomBytes(5 * PART + 1);
        await objects.put("a", pieces(bytes, MIB));
        const isPartCopy = ({ method, query }: Seen) => method === "PUT" && query.has("partNumber");
        const broken = first(2, { kind: "status", status: 503, code: "SlowDown" }, isPartCopy);
        proxy.fault = broken.decide;
        await objects.copy("a", "b");
        assert.equal(broken.seen(), 6 + 2);
        assert.equal(Buffer.compare((await read(objects, "b"))!, bytes), 0);

        let replacing: Promise<unknown> | undefined;
        proxy.fault = ({ method, path, query }) => {
          // The first of several requests of the copy. A request that bypasses the proxy then replaces the source.
          if (method === "POST" && path.endsWith("/c") && query.has("uploads"))
            replacing = direct.put("a", Buffer.from("other bytes"));
          return isPartCopy({ method, path, query }) ? { kind: "delay", ms: 500 } : undefined;
        };
        const direct = await openTestObjects(t, bucket, db);
        await assert.rejects(objects.copy("a", "c"), (err) => isStoreError(err, "objectChanged"));
        await replacing;
        assert.equal(await objects.open("c"), undefined);
        const client = createS3Client(bucket);
        t.after(() => client.destroy());
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket.bucket }));
        assert.deepEqual(Uploads, []);
      });

      test("deletes objects one by one if the server does not implement DeleteObjects", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        for (const key of ["a", "b", "c"]) await objects.put(key, Buffer.from(key));
        proxy.fault = ({ query }) =>
          query.has("delete") ? { kind: "status", status: 501, code: "NotImplemented" } : undefined;
        await objects.delete(["a", "b"]);
        assert.deepEqual(await keysOf(objects), ["c"]);
      });

      test("with `ifAbsent`, checks for an existing object first if the server has no conditional writes", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        const unsupported = () => first(1, { kind: "status", status: 501, code: "NotImplemented" }).decide;
        proxy.fault = unsupported();
        assert.equal((await objects.put("a", Buffer.from("first"), { ifAbsent: true })).isExisting, undefined);
        proxy.fault = unsupported();
        assert.equal((await objects.put("a", Buffer.from("second"), { ifAbsent: true })).isExisting, true);
        assert.equal(String(await read(objects, "a")), "first");
        // Multipart uploads have no condition either, so the driver checks first.
        const large = pieces(randomBytes(9 * MIB), MIB);
        assert.equal((await objects.put("a", large, { ifAbsent: true })).isExisting, true);
        assert.equal(String(await read(objects, "a")), "first");
      });

      test("reports a full bucket without a retry", async (t) => {
        const { proxy, objects } = await throughProxy(t, engine, openBucket);
        proxy.fault = () => ({ kind: "status", status: 403, code: "QuotaExceeded" });
        await assert.rejects(objects.put("a", Buffer.from("a")), (err) => isStoreError(err, "bucketFull"));
        assert.equal(proxy.requests, 1);
      });
    });

    describe("errors of a bucket", () => {
      const failureOf = async (objects: S3Objects): Promise<UserError> =>
        objects.put("a", Buffer.from("a")).then(
          () => assert.fail("the object was stored"),
          (err: UserError) => err,
        );

      test("name the problem: credentials, bucket, address", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const secret = await openTestObjects(t, { ...bucket, secretAccessKey: "wrong" }, db);
        const wrongSecret = await failureOf(secret);
        assert.equal(wrongSecret.kind, "objectsDenied");
        assert.match(wrongSecret.message, /SignatureDoesNotMatch/);
        assert.match(wrongSecret.fix!, /AWS_SECRET_ACCESS_KEY/);
        const wrongKey = await failureOf(await openTestObjects(t, { ...bucket, accessKeyId: "wrong" }, db));
        assert.match(wrongKey.message, /InvalidAccessKeyId/);
        const url = bucket.url.replace(bucket.bucket, "no-such-bucket");
        const missing = await failureOf(await openTestObjects(t, { ...bucket, url }, db));
        assert.equal(missing.kind, "bucketMissing");
        assert.match(missing.message, /the bucket no-such-bucket does not exist at http:/);
        const proxy = await startFaultyS3(t, bucket.endpoint);
        proxy.fault = () => ({ kind: "reset" });
        const away = bucket.url.replace(encodeURIComponent(bucket.endpoint), encodeURIComponent(proxy.endpoint));
        const unreachable = await failureOf(await openTestObjects(t, { ...bucket, url: away }, db));
        assert.equal(unreachable.kind, "objectsUnreachable");
        assert.equal(unreachable.entry.http, 503);
        assert.equal(unreachable.entry.smtp, 451);
        assert.match(unreachable.message, new RegExp(proxy.endpoint));
      });

      test("do not occur if the clock of this machine is wrong by an hour: the time of the server is used", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const objects = await openTestObjects(t, await openBucket(t), db, { clockOffsetMs: -3_600_000 });
        await objects.put("a", Buffer.from("a"));
      });
    });
  });
});
