import assert from "node:assert/strict";
import { describe } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { PART, r2Tests, refusal } from "./fixture.conformance.ts";

export function uploadListConformance(engine: TestEngine): void {
  describe("lists of uploads", () => {
    const test = r2Tests(engine);

    test("open uploads are listed in pages, ordered by key and id", async ({ r2, bucket, upload }) => {
      const ids: Record<string, string[]> = {};
      for (const key of ["b", "a", "b", "a/é", "c"]) {
        const { uploadId } = await r2.createUpload(bucket, key);
        (ids[key] ??= []).push(uploadId);
      }
      const { ref, uploaded } = await upload("done", ["x"]);
      await r2.completeUpload(bucket, ref, uploaded);
      await r2.abortUpload(bucket, { key: "c", uploadId: ids.c![0]! });
      const expected = ["a", "a/é", "b"].flatMap((key) => ids[key]!.toSorted().map((id) => [key, id]));
      const listedUploads: string[][] = [];
      let lastUpload: { key: string; uploadId: string } | undefined;
      for (;;) {
        const { uploads, more } = await r2.listUploads(bucket, {
          limit: 1,
          ...(lastUpload && { afterKey: lastUpload.key, afterUpload: lastUpload.uploadId }),
        });
        listedUploads.push(...uploads.map(({ key, uploadId }) => [key, uploadId]));
        lastUpload = uploads.at(-1);
        if (!more) break;
      }
      assert.deepEqual(listedUploads, expected);
      const keysOf = async (options: Parameters<typeof r2.listUploads>[1]) =>
        (await r2.listUploads(bucket, options)).uploads.map(({ key }) => key);
      assert.deepEqual(await keysOf({ prefix: "a" }), ["a", "a/é"]);
      assert.deepEqual(await keysOf({ afterKey: "a/é" }), ["b", "b"]);
      await assert.rejects(r2.listUploads(bucket, { limit: 0 }), refusal("invalidMaxKeys"));
    });

    test("parts are listed by number with their upload time, and can be located after completion", async ({
      r2,
      bucket,
      upload,
      clock,
    }) => {
      const parts = ["a", "b", "c"].map((text) => text.repeat(PART));
      const { ref, uploaded } = await upload("key", [...parts, "end"]);
      const page = await r2.listParts(bucket, ref, { after: 1, limit: 2 });
      assert.deepEqual(
        [page.parts.map(({ partNumber, size }) => [partNumber, size]), page.more, page.parts[0]!.uploaded],
        [
          [
            [2, PART],
            [3, PART],
          ],
          true,
          new Date(clock.now()),
        ],
      );
      await assert.rejects(r2.listParts(bucket, { ...ref, key: "other" }), refusal("noSuchUpload"));
      const { etag } = await r2.completeUpload(bucket, ref, uploaded);
      await assert.rejects(r2.listParts(bucket, ref), refusal("noSuchUpload"));
      assert.deepEqual(await r2.partRange(bucket, "key", 4), {
        etag,
        range: { offset: 3 * PART, length: 3 },
        parts: 4,
      });
      assert.equal(await r2.partRange(bucket, "key", 5), undefined);
      const plainObject = await r2.put(bucket, "plain", Buffer.from("text"));
      const whole = { etag: plainObject.etag, range: { offset: 0, length: 4 }, parts: undefined };
      assert.deepEqual(await r2.partRange(bucket, "plain", 1), whole);
      assert.equal(await r2.partRange(bucket, "plain", 2), undefined);
      assert.equal(await r2.partRange(bucket, "none", 1), undefined);
    });
  });
}
