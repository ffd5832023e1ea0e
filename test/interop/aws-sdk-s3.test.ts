import assert from "node:assert/strict";
import { createHash, randomFillSync } from "node:crypto";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { credentialsOf, failsAs, getSignedUrl, s3, s3Client } from "./aws-sdk-s3.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const MiB = 1024 * 1024;
const WORKER = `
export default {
  async fetch(request, env) {
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (request.method === "PUT") {
      await env.FILES.put(key, request.body, { httpMetadata: { contentType: "text/x-worker" }, customMetadata: { by: "worker" } });
      return new Response("stored");
    }
    const object = await env.FILES.get(key);
    return object === null
      ? new Response("none", { status: 404 })
      : Response.json({ text: await object.text(), type: object.httpMetadata.contentType, meta: object.customMetadata });
  },
};
`;

describe("AWS SDK for JavaScript: R2", () => {
  const scope = createScope();
  let platform: Platform;
  let credentials: Awaited<ReturnType<typeof credentialsOf>>;
  let client: ReturnType<typeof s3Client>;
  const Bucket = "films";
  before(async () => {
    platform = await startPlatform(scope);
    credentials = await credentialsOf(platform);
    client = s3Client(`${platform.url}/s3/${platform.account}`, credentials);
    scope.after(async () => client.destroy());
  });
  after(scope.close);

  const send = (name: string, input: object) => client.send(new s3[`${name}Command`](input));
  const text = async (key: string, more: object = {}) =>
    (await send("GetObject", { Bucket, Key: key, ...more })).Body.transformToString();

  it("buckets are created, listed and found", async () => {
    await send("CreateBucket", { Bucket });
    await assert.rejects(send("CreateBucket", { Bucket }), failsAs("BucketAlreadyOwnedByYou", 409));
    assert.deepEqual(
      (await send("ListBuckets", {})).Buckets.map(({ Name }: { Name: string }) => Name),
      [Bucket],
    );
    await send("HeadBucket", { Bucket });
    await assert.rejects(send("HeadBucket", { Bucket: "none" }), failsAs("NotFound", 404));
    assert.equal((await send("GetBucketLocation", { Bucket })).LocationConstraint, "auto");
  });

  it("an object keeps its bytes and metadata", async () => {
    const Key = "a/b c+é&<'>.txt";
    const put = await send("PutObject", {
      Bucket,
      Key,
      Body: "hello",
      ContentType: "text/plain",
      CacheControl: "max-age=3",
      Metadata: { by: "sdk" },
    });
    // The client sends this checksum by default.
    assert.equal(put.ChecksumCRC32, "NhCmhg==");
    const head = await send("HeadObject", { Bucket, Key });
    assert.deepEqual(
      [head.ContentLength, head.ContentType, head.CacheControl, head.Metadata, head.ETag],
      [5, "text/plain", "max-age=3", { by: "sdk" }, put.ETag],
    );
    assert.equal(await text(Key), "hello");
    assert.equal(await text(Key, { Range: "bytes=1-3" }), "ell");
    await assert.rejects(send("GetObject", { Bucket, Key: "none" }), failsAs("NoSuchKey", 404));
    await assert.rejects(send("GetObject", { Bucket, Key, IfMatch: '"x"' }), failsAs("PreconditionFailed", 412));
    await assert.rejects(
      send("PutObject", { Bucket, Key, Body: "x", IfNoneMatch: "*" }),
      failsAs("PreconditionFailed", 412),
    );
  });

  for (const ChecksumAlgorithm of ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
    it(`a stream with the checksum ${ChecksumAlgorithm} in a trailer is stored`, async (t) => {
      const bytes = randomFillSync(Buffer.alloc(200_000));
      const pieces = [bytes.subarray(0, 70_000), bytes.subarray(70_000)];
      const input = {
        Bucket,
        Key: "stream",
        Body: Readable.from(pieces),
        ContentLength: bytes.length,
        ChecksumAlgorithm,
      };
      try {
        await send("PutObject", input);
      } catch (err) {
        // Some checksums need a native package that the client does not bring along.
        if (!/aws-crt|crc64-nvme/i.test(String(err))) throw err;
        return t.skip(String(err).slice(0, 200));
      }
      const stored = await (await send("GetObject", { Bucket, Key: "stream" })).Body.transformToByteArray();
      assert.ok(bytes.equals(stored));
    });

  it("lists are paged with prefixes", async () => {
    for (const Key of ["list/1", "list/2", "list/x/1", "list/x/2", "list/y"])
      await send("PutObject", { Bucket, Key, Body: Key });
    const seen: string[] = [];
    for await (const page of s3.paginateListObjectsV2(
      { client, pageSize: 2 },
      { Bucket, Prefix: "list/", Delimiter: "/" },
    ))
      seen.push(
        ...(page.Contents ?? []).map(({ Key }: { Key: string }) => Key),
        ...(page.CommonPrefixes ?? []).map(({ Prefix }: { Prefix: string }) => Prefix),
      );
    assert.deepEqual(seen.sort(), ["list/1", "list/2", "list/x/", "list/y"]);
    const deleted = await send("DeleteObjects", {
      Bucket,
      Delete: { Objects: [{ Key: "list/1" }, { Key: "list/2" }, { Key: "list/none" }] },
    });
    assert.equal(deleted.Deleted.length, 3);
    await send("DeleteObject", { Bucket, Key: "list/y" });
    const { KeyCount } = await send("ListObjectsV2", { Bucket, Prefix: "list/" });
    assert.equal(KeyCount, 2);
  });

  it("a multipart upload, with a copied part, becomes one object", async () => {
    const part = randomFillSync(Buffer.alloc(5 * MiB));
    await send("PutObject", { Bucket, Key: "part", Body: part });
    const upload = { Bucket, Key: "big" };
    const { UploadId } = await send("CreateMultipartUpload", { ...upload, ContentType: "video/mp4" });
    const of = { ...upload, UploadId };
    const first = await send("UploadPart", { ...of, PartNumber: 1, Body: part });
    const second = await send("UploadPartCopy", { ...of, PartNumber: 2, CopySource: `${Bucket}/part` });
    const third = await send("UploadPart", { ...of, PartNumber: 3, Body: "end" });
    const { Parts } = await send("ListParts", of);
    assert.deepEqual(
      Parts.map(({ PartNumber, Size }: { PartNumber: number; Size: number }) => [PartNumber, Size]),
      [
        [1, 5 * MiB],
        [2, 5 * MiB],
        [3, 3],
      ],
    );
    assert.equal((await send("ListMultipartUploads", { Bucket })).Uploads[0].UploadId, UploadId);
    const etags = [first.ETag, second.CopyPartResult.ETag, third.ETag];
    await send("CompleteMultipartUpload", {
      ...of,
      MultipartUpload: { Parts: etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 })) },
    });
    const head = await send("HeadObject", upload);
    assert.deepEqual([head.ContentLength, head.ContentType], [10 * MiB + 3, "video/mp4"]);
    assert.equal(await text("big", { Range: `bytes=${10 * MiB - 2}-` }), part.subarray(-2).toString("utf8") + "end");
    const abandoned = await send("CreateMultipartUpload", { Bucket, Key: "never" });
    await send("AbortMultipartUpload", { Bucket, Key: "never", UploadId: abandoned.UploadId });
    await assert.rejects(
      send("ListParts", { Bucket, Key: "never", UploadId: abandoned.UploadId }),
      failsAs("NoSuchUpload", 404),
    );
  });

  it("copies, CORS and lifecycle rules", async () => {
    await send("PutObject", { Bucket, Key: "from", Body: "copied", Metadata: { a: "1" } });
    await send("CopyObject", { Bucket, Key: "to", CopySource: `/${Bucket}/from` });
    assert.deepEqual((await send("HeadObject", { Bucket, Key: "to" })).Metadata, { a: "1" });
    const CORSRules = [
      { AllowedOrigins: ["https://app.example"], AllowedMethods: ["GET", "PUT"], AllowedHeaders: ["*"] },
    ];
    await send("PutBucketCors", { Bucket, CORSConfiguration: { CORSRules } });
    assert.deepEqual((await send("GetBucketCors", { Bucket })).CORSRules, CORSRules);
    await send("DeleteBucketCors", { Bucket });
    await assert.rejects(send("GetBucketCors", { Bucket }), failsAs("NoSuchCORSConfiguration", 404));
    const rule = { ID: "old", Status: "Enabled", Filter: { Prefix: "logs/" }, Expiration: { Days: 1 } };
    await send("PutBucketLifecycleConfiguration", { Bucket, LifecycleConfiguration: { Rules: [rule] } });
    const { Rules } = await send("GetBucketLifecycleConfiguration", { Bucket });
    assert.deepEqual(Rules, [rule]);
    await assert.rejects(send("GetBucketVersioning", { Bucket }), failsAs("NotImplemented", 501));
  });

  it("presigned URLs upload and download without credentials, until they expire or change", async () => {
    const put = await getSignedUrl(
      client,
      new s3.PutObjectCommand({ Bucket, Key: "presigned", ContentType: "text/x" }),
      {
        expiresIn: 60,
        signableHeaders: new Set(["content-type"]),
      },
    );
    const headers = { "content-type": "text/x" };
    const refused = await fetch(put, { method: "PUT", body: "text", headers: { "content-type": "text/y" } });
    assert.equal(refused.status, 403);
    assert.equal((await fetch(put, { method: "PUT", body: "text", headers })).status, 200);
    const get = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: "presigned" }), { expiresIn: 60 });
    assert.equal(await (await fetch(get)).text(), "text");
    assert.equal((await fetch(get.replace("presigned", "from"))).status, 403);
    const past = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: "presigned" }), {
      expiresIn: 1,
      signingDate: new Date(Date.now() - 60_000),
    });
    assert.match(await (await fetch(past)).text(), /<Code>ExpiredRequest<\/Code>/);
  });

  it("workers read objects of S3 clients, and S3 clients read objects of workers", async () => {
    const wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "files",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        r2_buckets: [{ binding: "FILES", bucket_name: Bucket }],
      }),
      "worker.js": WORKER,
    });
    await wrangler.run(["deploy"]);
    await send("PutObject", {
      Bucket,
      Key: "shared",
      Body: "from sdk",
      ContentType: "text/x-sdk",
      Metadata: { by: "sdk" },
    });
    assert.deepEqual(JSON.parse((await platform.visit("files", "/shared")).text), {
      text: "from sdk",
      type: "text/x-sdk",
      meta: { by: "sdk" },
    });
    await platform.visit("files", "/shared", { method: "PUT", body: "from worker" });
    const got = await send("GetObject", { Bucket, Key: "shared" });
    assert.deepEqual(
      [await got.Body.transformToString(), got.ContentType, got.Metadata],
      ["from worker", "text/x-worker", { by: "worker" }],
    );
  });

  it("a token with read permission reads; after its revocation it does nothing", async () => {
    const groups = await platform.ask<{ id: string; name: string }[]>("/user/tokens/permission_groups");
    const { id } = groups.find(({ name }) => name === "Workers R2 Storage Read")!;
    const made = await platform.ask<{ id: string; value: string }>("/user/tokens", {
      method: "POST",
      body: JSON.stringify({
        name: "reader",
        policies: [
          {
            effect: "allow",
            permission_groups: [{ id }],
            resources: { [`com.cloudflare.api.account.${platform.account}`]: "*" },
          },
        ],
      }),
    });
    const reader = s3Client(`${platform.url}/s3/${platform.account}`, {
      accessKeyId: made.id,
      secretAccessKey: createHash("sha256").update(made.value).digest("hex"),
    });
    await reader.send(new s3.GetObjectCommand({ Bucket, Key: "shared" }));
    await assert.rejects(
      reader.send(new s3.PutObjectCommand({ Bucket, Key: "shared", Body: "x" })),
      failsAs("AccessDenied", 403),
    );
    await platform.ask(`/user/tokens/${made.id}`, { method: "DELETE" });
    await assert.rejects(reader.send(new s3.GetObjectCommand({ Bucket, Key: "shared" })), failsAs("Unauthorized", 401));
    reader.destroy();
  });
});
