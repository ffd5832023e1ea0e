import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { createS3Client, onS3 } from "../../../../test/support/radosgw.ts";
import { createManualClock } from "../../../kernel/index.ts";
import { isStoreError, storeErrors } from "../../errors.ts";
import { keysOf, pieces, read } from "../objects.testing.ts";
import { objectsMigrations } from "../partials-table.ts";
import { openTestObjects } from "./s3.testing.ts";

const MIB = 1024 * 1024;
/** The smallest part that S3 accepts. */
const PART = 5 * MIB;

onS3((openBucket) => {
  describe("a partial object", () => {
    onEveryDatabase((engine) => {
      test("consists of equal parts and a tail, to which another process can append", async (t) => {
        const { db, another } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const bytes = randomBytes(2 * PART + 2 * MIB);
        const ends = [3 * MIB, PART, PART + 1, 2 * PART + MIB, bytes.length];
        let offset = 0;
        for (const end of ends) {
          const objects = await openTestObjects(t, bucket, await another(), { partBytes: PART });
          const partial = objects.partial("a/source");
          assert.equal(await partial.size(), offset);
          offset = await partial.append(offset, pieces(bytes.subarray(offset, end), 900_000));
          assert.equal(offset, end);
        }
        const objects = await openTestObjects(t, bucket, db, { partBytes: PART });
        assert.equal(await objects.open("a/source"), undefined);
        await objects.partial("a/source").complete(bytes.length);
        await objects.partial("a/source").complete(bytes.length);
        assert.equal(Buffer.compare((await read(objects, "a/source"))!, bytes), 0);
        const client = createS3Client(bucket);
        t.after(() => client.destroy());
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket.bucket }));
        assert.deepEqual(
          Contents.map(({ Key }) => Key),
          ["a/source"],
        );
      });

      test("rejects a writer that another one has replaced, and contains only the bytes of the last writer", async (t) => {
        const { db, another } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const slow = await openTestObjects(t, bucket, await another(), { partBytes: PART });
        const fast = await openTestObjects(t, bucket, db, { partBytes: PART });
        const { promise: paused, resolve: pause } = Promise.withResolvers<void>();
        const { promise: continued, resolve: proceed } = Promise.withResolvers<void>();
        const old = slow.partial("a").append(
          0,
          (async function* () {
            yield Buffer.alloc(MIB, "old");
            pause();
            await continued;
            yield Buffer.alloc(2 * PART, "old");
          })(),
        );
        old.catch(() => {});
        await paused;
        const bytes = randomBytes(PART + MIB);
        const size = await fast.partial("a").append(0, pieces(bytes, MIB));
        proceed();
        await assert.rejects(old, (err) => isStoreError(err, "partialReplaced"));
        assert.equal(await fast.partial("a").size(), size);
        await fast.partial("a").complete(size);
        assert.equal(Buffer.compare((await read(fast, "a"))!, bytes), 0);
      });

      test("accepts only one of several writers that start at the same offset", async (t) => {
        const { another } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const stores = await Promise.all(
          Array.from({ length: 4 }, async () => openTestObjects(t, bucket, await another())),
        );
        const results = await Promise.allSettled(
          stores.map(async (store, n) => store.partial("a").append(0, pieces(Buffer.alloc(1000, n), 100))),
        );
        const accepted = results.flatMap(({ status }, n) => (status === "fulfilled" ? [n] : []));
        for (const result of results) {
          if (result.status === "rejected")
            assert.ok(isStoreError(result.reason, "partialReplaced") || isStoreError(result.reason, "badOffset"));
        }
        assert.equal(accepted.length, 1);
        await stores[0]!.partial("a").complete(1000);
        assert.deepEqual(await read(stores[0]!, "a"), Buffer.alloc(1000, accepted[0]));
      });
    });

    onEveryDatabase((engine) => {
      if (engine.name !== "sqlite") return;

      test("keeps the bytes received before an error of the source", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const objects = await openTestObjects(t, await openBucket(t), db, { partBytes: PART });
        const bytes = randomBytes(PART + 10);
        const reason = new Error("the peer went away");
        await assert.rejects(
          objects.partial("a").append(
            0,
            (async function* () {
              yield bytes;
              throw reason;
            })(),
          ),
          reason,
        );
        assert.equal(await objects.partial("a").size(), bytes.length);
        await objects.partial("a").complete(bytes.length);
        assert.equal(Buffer.compare((await read(objects, "a"))!, bytes), 0);
      });

      test("keeps all acknowledged bytes if the database commits an update but its response is lost", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const bytes = randomBytes(2 * PART);
        const deaf: typeof db = {
          ...db,
          async write(query) {
            const written = await db.write(query);
            // Only the updates of a writer set the ETags.
            if (/^update .*etags/s.test(query.compile().sql))
              throw storeErrors.unreachable({ address: "db", reason: "lost" });
            return written;
          },
        };
        const objects = await openTestObjects(t, bucket, db, { partBytes: PART });
        const unsure = await openTestObjects(t, bucket, deaf, { partBytes: PART });
        // With a first part, and with only a tail.
        for (const length of [PART + 5, 5]) {
          await objects.partial("a").append(0, pieces(bytes.subarray(0, 10), 10));
          await assert.rejects(unsure.partial("a").append(10, pieces(bytes.subarray(10, 10 + length), MIB)), (err) =>
            isStoreError(err, "unreachable"),
          );
          const size = await objects.partial("a").size();
          assert.ok(size > 10, "the database has committed the step");
          const end = await objects.partial("a").append(size, pieces(bytes.subarray(size, size + 7), 7));
          await objects.partial("a").complete(end);
          assert.equal(Buffer.compare((await read(objects, "a"))!, bytes.subarray(0, end)), 0);
        }
      });

      test("leaves nothing behind when discarded, abandoned for 45 days, or orphaned by a killed process", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const clock = createManualClock(Date.now());
        const objects = await openTestObjects(t, bucket, db, { partBytes: PART, clock });
        for (const key of ["discarded", "abandoned", "continued"])
          await objects.partial(key).append(0, pieces(randomBytes(PART + 10), PART));
        await objects.partial("discarded").discard();
        // A killed process leaves uploads and tails that no row refers to.
        const client = createS3Client(bucket);
        t.after(() => client.destroy());
        const Bucket = bucket.bucket;
        await client.send(new CreateMultipartUploadCommand({ Bucket, Key: "orphaned" }));
        await client.send(new PutObjectCommand({ Bucket, Key: ".partial/orphaned", Body: "tail" }));
        await objects.sweep();
        assert.equal((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads?.length, 3);
        clock.advance(30 * 86_400_000);
        await objects.partial("continued").append(PART + 10, pieces(Buffer.alloc(1), 1));
        clock.advance(20 * 86_400_000);
        await objects.sweep();
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
        assert.deepEqual(
          Uploads.map(({ Key }) => Key),
          ["continued"],
        );
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
        assert.equal(Contents.length, 1);
        assert.equal(await objects.partial("abandoned").size(), 0);
        assert.deepEqual(await keysOf(objects), []);
        await objects.partial("continued").complete(PART + 11);
        assert.deepEqual(await keysOf(objects), ["continued"]);
      });

      test("starts from 0 if its multipart upload was aborted, for example by a lifecycle rule of the bucket", async (t) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const objects = await openTestObjects(t, bucket, db, { partBytes: PART });
        const client = createS3Client(bucket);
        t.after(() => client.destroy());
        for (const step of ["append", "complete"] as const) {
          await objects.partial("a").append(0, pieces(randomBytes(PART + 10), PART));
          const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket.bucket }));
          const { Key, UploadId } = Uploads![0]!;
          await client.send(new AbortMultipartUploadCommand({ Bucket: bucket.bucket, Key, UploadId }));
          await assert.rejects(
            step === "append"
              ? objects.partial("a").append(PART + 10, pieces(randomBytes(PART), PART))
              : objects.partial("a").complete(PART + 10),
            (err) => isStoreError(err, step === "append" ? "partialDamaged" : "absent"),
          );
          assert.equal(await objects.partial("a").size(), 0);
        }
      });
    });
  });
});
