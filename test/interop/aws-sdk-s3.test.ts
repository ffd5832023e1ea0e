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
  const readText = async (key: string, more: object = {}) =>
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

  it("the bytes and metadata of an object are preserved", async () => {
    const Key = "a/b c+é&<'>.txt";
    const putResult = await send("PutObject", {
      Bucket,
      Key,
      Body: "hello",
      ContentType: "text/plain",
      CacheControl: "max-age=3",
      Metadata: { by: "sdk" },
    });
    // The client sends this checksum by default.
    assert.equal(putResult.ChecksumCRC32, "NhCmhg==");
    const head = await send("HeadObject", { Bucket, Key });
    assert.deepEqual(
      [head.ContentLength, head.ContentType, head.CacheControl, head.Metadata, head.ETag],
      [5, "text/plain", "max-age=3", { by: "sdk" }, putResult.ETag],
    );
    assert.equal(await readText(Key), "hello");
    assert.equal(await readText(Key, { Range: "bytes=1-3" }), "ell");
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
      const bodyChunks = [bytes.subarray(0, 70_000), bytes.subarray(70_000)];
      const input = {
        Bucket,
        Key: "stream",
        Body: Readable.from(bodyChunks),
        ContentLength: bytes.length,
        ChecksumAlgorithm,
      };
      try {
        await send("PutObject", input);
      } catch (err) {
        // Some checksums need a native package that the client does not include.
        if (!/aws-crt|crc64-nvme/i.test(String(err))) throw err;
        return t.skip(String(err).slice(0, 200));
      }
      const storedBytes = await (await send("GetObject", { Bucket, Key: "stream" })).Body.transformToByteArray();
      assert.ok(bytes.equals(storedBytes));
    });

  it("object lists are paginated, with common prefixes", async () => {
    for (const Key of ["list/1", "list/2", "list/x/1", "list/x/2", "list/y"])
      await send("PutObject", { Bucket, Key, Body: Key });
    const listedKeys: string[] = [];
    for await (const page of s3.paginateListObjectsV2(
      { client, pageSize: 2 },
      { Bucket, Prefix: "list/", Delimiter: "/" },
    ))
      listedKeys.push(
        ...(page.Contents ?? []).map(({ Key }: { Key: string }) => Key),
        ...(page.CommonPrefixes ?? []).map(({ Prefix }: { Prefix: string }) => Prefix),
      );
    assert.deepEqual(listedKeys.sort(), ["list/1", "list/2", "list/x/", "list/y"]);
    const deleted = await send("DeleteObjects", {
      Bucket,
      Delete: { Objects: [{ Key: "list/1" }, { Key: "list/2" }, { Key: "list/none" }] },
    });
    assert.equal(deleted.Deleted.length, 3);
    await send("DeleteObject", { Bucket, Key: "list/y" });
    const { KeyCount } = await send("ListObjectsV2", { Bucket, Prefix: "list/" });
    assert.equal(KeyCount, 2);
  });

  it("a multipart upload with a copied part becomes one object", async () => {
    const part = randomFillSync(Buffer.alloc(5 * MiB));
    await send("PutObject", { Bucket, Key: "part", Body: part });
    const upload = { Bucket, Key: "big" };
    const { UploadId } = await send("CreateMultipartUpload", { ...upload, ContentType: "video/mp4" });
    const uploadRef = { ...upload, UploadId };
    const first = await send("UploadPart", { ...uploadRef, PartNumber: 1, Body: part });
    const second = await send("UploadPartCopy", { ...uploadRef, PartNumber: 2, CopySource: `${Bucket}/part` });
    const third = await send("UploadPart", { ...uploadRef, PartNumber: 3, Body: "end" });
    const { Parts } = await send("ListParts", uploadRef);
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
      ...uploadRef,
      MultipartUpload: { Parts: etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 })) },
    });
    const head = await send("HeadObject", upload);
    assert.deepEqual([head.ContentLength, head.ContentType], [10 * MiB + 3, "video/mp4"]);
    assert.equal(
      await readText("big", { Range: `bytes=${10 * MiB - 2}-` }),
      part.subarray(-2).toString("utf8") + "end",
    );
    const abortedUpload = await send("CreateMultipartUpload", { Bucket, Key: "never" });
    await send("AbortMultipartUpload", { Bucket, Key: "never", UploadId: abortedUpload.UploadId });
    await assert.rejects(
      send("ListParts", { Bucket, Key: "never", UploadId: abortedUpload.UploadId }),
      failsAs("NoSuchUpload", 404),
    );
  });

  it("objects are copied, and CORS and lifecycle rules are stored", async () => {
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

  it("presigned URLs allow uploads and downloads without credentials, unless they have expired or been modified", async () => {
    const putUrl = await getSignedUrl(
      client,
      new s3.PutObjectCommand({ Bucket, Key: "presigned", ContentType: "text/x" }),
      {
        expiresIn: 60,
        signableHeaders: new Set(["content-type"]),
      },
    );
    const headers = { "content-type": "text/x" };
    const rejected = await fetch(putUrl, { method: "PUT", body: "text", headers: { "content-type": "text/y" } });
    assert.equal(rejected.status, 403);
    assert.equal((await fetch(putUrl, { method: "PUT", body: "text", headers })).status, 200);
    const getUrl = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: "presigned" }), { expiresIn: 60 });
    assert.equal(await (await fetch(getUrl)).text(), "text");
    assert.equal((await fetch(getUrl.replace("presigned", "from"))).status, 403);
    const expiredUrl = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: "presigned" }), {
      expiresIn: 1,
      signingDate: new Date(Date.now() - 60_000),
    });
    assert.match(await (await fetch(expiredUrl)).text(), /<Code>ExpiredRequest<\/Code>/);
  });

  it("workers read objects written by S3 clients, and S3 clients read objects written by workers", async () => {
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
    const object = await send("GetObject", { Bucket, Key: "shared" });
    assert.deepEqual(
      [await object.Body.transformToString(), object.ContentType, object.Metadata],
      ["from worker", "text/x-worker", { by: "worker" }],
    );
  });

  it("a read-only token can read objects; after it is revoked, it is rejected", async () => {
    const groups = await platform.ask<{ id: string; name: string }[]>("/user/tokens/permission_groups");
    const { id } = groups.find(({ name }) => name === "Workers R2 Storage Read")!;
    const token = await platform.ask<{ id: string; value: string }>("/user/tokens", {
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
      accessKeyId: token.id,
      secretAccessKey: createHash("sha256").update(token.value).digest("hex"),
    });
    await reader.send(new s3.GetObjectCommand({ Bucket, Key: "shared" }));
    await assert.rejects(
      reader.send(new s3.PutObjectCommand({ Bucket, Key: "shared", Body: "x" })),
      failsAs("AccessDenied", 403),
    );
    await platform.ask(`/user/tokens/${token.id}`, { method: "DELETE" });
    await assert.rejects(reader.send(new s3.GetObjectCommand({ Bucket, Key: "shared" })), failsAs("Unauthorized", 401));
    reader.destroy();
  });
});
