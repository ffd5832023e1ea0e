import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createR2Buckets } from "./buckets.ts";
import { HOUR, md5, PART, r2Tests, refusal, stream, textOf, type Kind } from "./fixture.conformance.ts";

/** Behavior of R2 on every database engine: multipart uploads and garbage collection. */
export function multipartConformance(engine: TestEngine): void {
  describe("R2 multipart uploads and orphaned data", () => {
    const it = r2Tests(engine);

    describe("multipart uploads", () => {
      const parts = ["a".repeat(PART), "b".repeat(PART), "c"];

      it("become one object composed of their parts", async ({ r2, bucket, clock, get, keys }) => {
        const options = {
          httpMetadata: { contentType: "text/plain" },
          customMetadata: { k: "v" },
          storageClass: "InfrequentAccess" as const,
        };
        const ref = await r2.createUpload(bucket, "key", options);
        const uploaded = [];
        for (const [index, part] of parts.entries())
          uploaded.push(
            await r2.uploadPart(bucket, ref, index + 1, stream([Buffer.from(part)]), { size: part.length }),
          );
        assert.deepEqual(
          uploaded,
          parts.map((part, index) => ({ partNumber: index + 1, etag: md5(part) })),
        );
        assert.equal(await r2.head(bucket, "key"), undefined);
        assert.deepEqual(await keys(), []);

        const object = await r2.completeUpload(bucket, ref, uploaded);
        const etag = `${createHash("md5")
          .update(Buffer.concat(parts.map((part) => createHash("md5").update(part).digest())))
          .digest("hex")}-3`;
        assert.deepEqual(object, {
          key: "key",
          version: object.version,
          size: 2 * PART + 1,
          etag,
          uploaded: new Date(clock.now()),
          checksums: {},
          ...options,
        });
        assert.deepEqual(await r2.head(bucket, "key"), object);
        assert.deepEqual((await r2.list(bucket, { include: ["httpMetadata", "customMetadata"] })).objects, [object]);
        assert.equal(await get("key"), parts.join(""));
        for (const [offset, length] of [
          [0, 1],
          [10, PART],
          [PART - 1, 2],
          [PART, PART],
          [2 * PART, 1],
          [2 * PART - 1, 2],
          [5, 2 * PART - 5],
        ] as const)
          assert.equal(await get("key", { range: { offset, length } }), parts.join("").slice(offset, offset + length));
      });

      it("sort their parts by number, and accept gaps, a single part, or no parts", async ({
        r2,
        bucket,
        get,
        upload,
      }) => {
        const gaps = await upload("gaps", ["22".repeat(PART), "9", "55".repeat(PART)], [2, 9, 5]);
        assert.equal((await r2.completeUpload(bucket, gaps.ref, gaps.uploaded)).size, 4 * PART + 1);
        assert.equal(await get("gaps", { range: { offset: 3 * PART } }), `${"5".repeat(PART)}9`);
        const single = await upload("single", ["x"]);
        assert.match((await r2.completeUpload(bucket, single.ref, single.uploaded)).etag, /-1$/);
        const none = await upload("none", []);
        assert.deepEqual(await r2.completeUpload(bucket, none.ref, []).then(({ size, etag }) => [size, etag]), [
          0,
          "d41d8cd98f00b204e9800998ecf8427e-0",
        ]);
        assert.equal(await get("none"), "");
      });

      it("keep only the parts listed at completion", async ({ r2, bucket, get, blobs, upload }) => {
        const { ref, uploaded } = await upload("key", parts);
        const again = await r2.uploadPart(bucket, ref, 1, Buffer.from("d".repeat(PART)));
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("invalidPart"));
        await r2.completeUpload(bucket, ref, [again, uploaded[2]!]);
        assert.equal(await get("key"), `${"d".repeat(PART)}c`);
        assert.equal((await blobs()).length, 2);
      });

      it("are rejected with a specific reason if their parts are invalid", async ({ r2, bucket, upload }) => {
        const { ref, uploaded } = await upload("key", [...parts, "e".repeat(PART + 1)]);
        const [one, two, short, long] = uploaded as [
          (typeof uploaded)[0],
          (typeof uploaded)[0],
          (typeof uploaded)[0],
          (typeof uploaded)[0],
        ];
        const refused = (list: object[], kind: Kind) =>
          assert.rejects(r2.completeUpload(bucket, ref, list as never), refusal(kind), JSON.stringify(list));
        await refused([one, short, long], "entityTooSmall");
        await refused([one, long], "unequalParts");
        await refused([one, two, long], "unequalParts");
        await refused([one, one], "invalidPart");
        await refused([one, { partNumber: 2, etag: one!.etag }], "invalidPart");
        await refused([one, { partNumber: 77, etag: one!.etag }], "invalidPart");
        await r2.completeUpload(bucket, ref, [one!, two!, short!]);
      });

      it("are rejected if part sizes differ, even if each is large enough", async ({ r2, bucket, stores, upload }) => {
        const { ref, uploaded } = await upload("key", ["a".repeat(PART), "b".repeat(PART + 1), "c"]);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("unequalParts"));
        const tiny = createR2Buckets({ ...stores, limits: { minimumPartBytes: 1, objectBytes: 2 * PART } });
        const large = await upload("large", ["a".repeat(PART), "b".repeat(PART), "c"]);
        await assert.rejects(tiny.completeUpload(bucket, large.ref, large.uploaded), refusal("entityTooLarge"));
      });

      it("are accessible only under their own key, until they are completed or aborted", async ({
        r2,
        bucket,
        get,
        blobs,
        upload,
      }) => {
        const { ref, uploaded } = await upload("key", ["x"]);
        for (const wrong of [
          { key: "other", uploadId: ref.uploadId },
          { key: "key", uploadId: "bad" },
        ]) {
          await assert.rejects(r2.uploadPart(bucket, wrong, 1, Buffer.from("x")), refusal("noSuchUpload"));
          await assert.rejects(r2.completeUpload(bucket, wrong, uploaded), refusal("noSuchUpload"));
          await assert.rejects(r2.abortUpload(bucket, wrong), refusal("noSuchUpload"));
        }
        for (const number of [0, 10_001, 1.5])
          await assert.rejects(r2.uploadPart(bucket, ref, number, Buffer.from("x")), refusal("invalidArgument"));
        await r2.completeUpload(bucket, ref, uploaded);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("noSuchUpload"));
        await assert.rejects(r2.uploadPart(bucket, ref, 2, Buffer.from("x")), refusal("noSuchUpload"));
        await r2.abortUpload(bucket, ref);
        assert.equal(await get("key"), "x");
        assert.equal((await blobs()).length, 1);
      });

      it("leave nothing when aborted, and can be aborted again", async ({ r2, bucket, put, get, blobs, upload }) => {
        await put("key", "before");
        const { ref, uploaded } = await upload("key", parts);
        await r2.abortUpload(bucket, ref);
        await r2.abortUpload(bucket, ref);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("noSuchUpload"));
        await assert.rejects(r2.uploadPart(bucket, ref, 4, Buffer.from("x")), refusal("noSuchUpload"));
        assert.equal(await get("key"), "before");
        assert.equal((await blobs()).length, 1);
      });

      it("are not affected by puts and deletes of their key while open, but are replaced or deleted by them once completed", async ({
        r2,
        bucket,
        put,
        blobs,
        upload,
      }) => {
        const first = await upload("key", parts);
        await put("key");
        await r2.delete(bucket, ["key"]);
        await r2.completeUpload(bucket, first.ref, first.uploaded);
        const second = await upload("key", ["second"]);
        await r2.completeUpload(bucket, second.ref, second.uploaded);
        assert.equal((await blobs()).length, 1);
        await put("key", "plain");
        assert.equal((await blobs()).length, 1);
        const third = await upload("key", parts);
        await r2.completeUpload(bucket, third.ref, third.uploaded);
        await r2.delete(bucket, ["key"]);
        assert.deepEqual(await blobs(), []);
      });

      it("remain readable to the end for readers that opened their objects before deletion", async ({
        r2,
        bucket,
        blobs,
        upload,
      }) => {
        const { ref, uploaded } = await upload("key", parts);
        await r2.completeUpload(bucket, ref, uploaded);
        const [whole, tail] = [
          (await r2.get(bucket, "key"))!,
          (await r2.get(bucket, "key", { range: { offset: PART } }))!,
        ];
        await r2.delete(bucket, ["key"]);
        assert.equal((await blobs()).length, 3);
        assert.equal(await textOf(tail), parts.slice(1).join(""));
        assert.equal(await textOf(whole), parts.join(""));
        assert.deepEqual(await blobs(), []);
      });

      it("complete once if completed twice concurrently, and never while a part is being replaced", async ({
        r2,
        bucket,
        get,
        blobs,
        upload,
      }) => {
        const { ref, uploaded } = await upload("key", ["x"]);
        const both = await Promise.allSettled([
          r2.completeUpload(bucket, ref, uploaded),
          r2.completeUpload(bucket, ref, uploaded),
          r2.uploadPart(bucket, ref, 1, Buffer.from("y")),
        ]);
        assert.equal(both.slice(0, 2).filter(({ status }) => status === "fulfilled").length <= 1, true);
        if (await r2.head(bucket, "key")) assert.equal(await get("key"), "x");
        assert.equal((await blobs()).length, 1);
      });
    });

    describe("garbage collection", () => {
      it("deletes bytes without a row, unless a put may still be writing them", async ({
        r2,
        clock,
        put,
        get,
        blobs,
        upload,
        orphan,
      }) => {
        const object = await put("key");
        const { uploaded } = await upload("open", ["x"]);
        assert.equal(uploaded.length, 1);
        await orphan("f".repeat(32));
        await r2.sweep();
        assert.equal((await blobs()).length, 3);
        clock.advance(25 * HOUR);
        const swept = await r2.sweep();
        assert.equal(swept.finished, true);
        const left = await blobs();
        assert.equal(left.length, 2);
        assert.ok(left.includes(object.version));
        assert.equal(await get("key"), "value");
      });

      it("works in batches and resumes where it stopped", async ({ r2, clock, blobs, orphan }) => {
        for (let i = 0; i < 5; i++) await orphan(`${i}`.repeat(32));
        clock.advance(25 * HOUR);
        for (let round = 0; ; round++) {
          const { examined, finished } = await r2.sweep({ limit: 2 });
          assert.ok(examined <= 2 && round < 100);
          if (finished) break;
        }
        await r2.sweep();
        assert.deepEqual(await blobs(), []);
      });

      it("deletes removed bytes after the grace period for other processes", async ({
        bucket,
        clock,
        stores,
        put,
        blobs,
      }) => {
        const shared = createR2Buckets({ ...stores, clock, removeImmediately: false });
        const { version } = await put("key", "old");
        await shared.put(bucket, "key", Buffer.from("new"));
        assert.ok((await blobs()).includes(version));
        clock.advance(HOUR / 2);
        await shared.sweep();
        assert.equal((await blobs()).length, 2);
        clock.advance(HOUR);
        assert.ok((await shared.sweep()).deleted >= 1);
        assert.equal((await blobs()).length, 1);
        assert.equal(
          (
            await stores.db
              .tables<{ r2_removed: { bucket: string } }>()
              .selectFrom("r2_removed")
              .selectAll()
              .where("bucket", "=", bucket)
              .execute()
          ).length,
          0,
        );
      });

      it("does not delete bytes that a reader in this process is using", async ({
        r2,
        bucket,
        clock,
        put,
        blobs,
        upload,
      }) => {
        const { ref, uploaded } = await upload("parts", ["a".repeat(PART), "b"]);
        await r2.completeUpload(bucket, ref, uploaded);
        await put("plain", "p".repeat(3_000_000));
        const readers = [(await r2.get(bucket, "parts"))!, (await r2.get(bucket, "plain"))!];
        await r2.delete(bucket, ["parts", "plain"]);
        clock.advance(48 * HOUR);
        await r2.sweep();
        assert.equal((await blobs()).length, 3);
        assert.deepEqual(await Promise.all(readers.map(textOf)), [`${"a".repeat(PART)}b`, "p".repeat(3_000_000)]);
        assert.deepEqual(await blobs(), []);
      });

      it("aborts abandoned uploads after a week, and then forgets them", async ({
        r2,
        bucket,
        clock,
        blobs,
        upload,
      }) => {
        const { ref } = await upload("key", ["x"]);
        clock.advance(6 * 24 * HOUR);
        await r2.sweep();
        await r2.uploadPart(bucket, ref, 2, Buffer.from("y"));
        clock.advance(2 * 24 * HOUR);
        assert.ok((await r2.sweep()).aborted >= 1);
        await assert.rejects(r2.uploadPart(bucket, ref, 3, Buffer.from("z")), refusal("noSuchUpload"));
        assert.deepEqual(await blobs(), []);
        await r2.abortUpload(bucket, ref);
        clock.advance(8 * 24 * HOUR);
        await r2.sweep();
        await assert.rejects(r2.abortUpload(bucket, ref), refusal("noSuchUpload"));
      });
    });
  });
}
