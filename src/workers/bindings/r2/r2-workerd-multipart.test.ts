import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { openR2Worker } from "./r2-workerd.testing.ts";

const MiB = 1024 * 1024;

// Each entry is one sequence of calls to the bucket; its return value is sent back as JSON.
const conversations = `
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
`;

describe("R2 through workerd", () => {
  const { converse } = openR2Worker(conversations, ["seven"]);

  test("creates, resumes, uploads, completes and aborts multipart uploads, and rejects invalid calls", async () => {
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
});
