import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { ACCOUNT, DOMAIN, startS3 } from "./s3.testing.ts";

const xml = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, value]) => value);

describe("operations of the S3 API", () => {
  it("keys with spaces, symbols and control characters are listed, URL-encoded on request", async (t) => {
    const { send, put } = await startS3(t);
    const keys = ["a b+c&d<é>", "x\u0001y", "//z", "ü/%41"];
    for (const key of keys) assert.equal((await put(encodeURIComponent(key), "v")).status, 200, key);
    assert.equal((await send({ path: `/bucket/${encodeURIComponent(keys[0]!)}` })).text, "v");
    const encoded = await send({ path: "/bucket?list-type=2&encoding-type=url" });
    assert.deepEqual(
      xml(encoded.text, "Key")
        .map((key) => decodeURIComponent(key!))
        .sort(),
      [...keys].sort(),
    );
    const plain = await send({ path: "/bucket?list-type=2" });
    assert.ok(plain.text.includes("a b+c&amp;d&lt;é&gt;") && plain.text.includes("x&#x1;y"), plain.text);
  });

  it("both list operations return pages in which each common prefix appears once", async (t) => {
    const { send, put } = await startS3(t);
    for (const key of ["a", "b/1", "b/2", "c/1", "d", "e"]) await put(key, key);
    const pages: string[][] = [];
    let token = "";
    do {
      const { text } = await send({ path: `/bucket?list-type=2&delimiter=%2F&max-keys=2${token}` });
      pages.push([...xml(text, "Key"), ...xml(text.replace(/<Prefix><\/Prefix>/, ""), "Prefix")] as string[]);
      const [nextToken] = xml(text, "NextContinuationToken");
      token = nextToken === undefined ? "" : `&continuation-token=${encodeURIComponent(nextToken)}`;
    } while (token !== "");
    assert.deepEqual(pages, [["a", "b/"], ["d", "c/"], ["e"]]);

    const pagesByMarker: string[][] = [];
    let marker = "";
    do {
      const { text } = await send({ path: `/bucket?delimiter=%2F&max-keys=2&marker=${encodeURIComponent(marker)}` });
      pagesByMarker.push([...xml(text, "Key"), ...xml(text.replace(/<Prefix><\/Prefix>/, ""), "Prefix")] as string[]);
      marker = xml(text, "NextMarker")[0] ?? "";
    } while (marker !== "");
    assert.deepEqual(pagesByMarker, pages);
    assert.match((await send({ path: "/bucket?list-type=2&max-keys=0" })).text, /<KeyCount>0<\/KeyCount>/);
    assert.equal((await send({ path: "/bucket?list-type=2&max-keys=x" })).code, "InvalidArgument");
    assert.equal((await send({ path: "/bucket?list-type=2&continuation-token=x" })).code, "InvalidArgument");
  });

  it("GET requests support conditions, ranges and response header overrides", async (t) => {
    const { send, put } = await startS3(t);
    const { headers } = await put("a", "0123456789", { "content-type": "text/x", "x-amz-meta-a": "1" });
    const etag = headers.etag!;
    assert.equal(etag, `"${createHash("md5").update("0123456789").digest("hex")}"`);
    const get = (more: Record<string, string>, query = "") => send({ path: `/bucket/a${query}`, headers: more });
    assert.equal((await get({ "if-none-match": etag })).status, 304);
    assert.equal((await get({ "if-match": '"x"' })).code, "PreconditionFailed");
    const rangeResponse = await get({ range: "bytes=2-4" });
    assert.deepEqual(
      [rangeResponse.status, rangeResponse.text, rangeResponse.headers["content-range"]],
      [206, "234", "bytes 2-4/10"],
    );
    assert.equal((await get({ range: "bytes=20-" })).code, "InvalidRange");
    const overrideResponse = await get({}, "?response-content-type=text%2Fy&response-content-disposition=attachment");
    assert.deepEqual(
      [
        overrideResponse.headers["content-type"],
        overrideResponse.headers["content-disposition"],
        overrideResponse.headers["x-amz-meta-a"],
      ],
      ["text/y", "attachment", "1"],
    );
    const head = await send({ method: "HEAD", path: "/bucket/a" });
    assert.deepEqual([head.status, head.headers["content-length"], head.text], [200, "10", ""]);
    assert.equal((await send({ method: "HEAD", path: "/bucket/none" })).status, 404);
    assert.equal((await put("a", "new", { "if-none-match": "*" })).code, "PreconditionFailed");
    assert.equal((await put("a", "new", { "if-match": etag })).status, 200);
  });

  it("checksums of an upload are verified and returned", async (t) => {
    const { send, put } = await startS3(t);
    const checks: Record<string, string> = {
      // The check values of the algorithms, for "123456789".
      "x-amz-checksum-crc32": "y/Q5Jg==",
      "x-amz-checksum-crc32c": "4waSgw==",
      "x-amz-checksum-crc64nvme": "rosUhgp5mIg=",
      "x-amz-checksum-sha1": createHash("sha1").update("123456789").digest("base64"),
      "x-amz-checksum-sha256": createHash("sha256").update("123456789").digest("base64"),
      "content-md5": createHash("md5").update("123456789").digest("base64"),
    };
    for (const [header, value] of Object.entries(checks)) {
      const putResponse = await put("sum", "123456789", { [header]: value });
      assert.equal(putResponse.status, 200, `${header} ${putResponse.text}`);
      if (header !== "content-md5") assert.equal(putResponse.headers[header], value);
      assert.equal((await put("sum", "123456780", { [header]: value })).code, "BadDigest", header);
      assert.equal((await put("sum", "123456789", { [header]: "eA==" })).code, "InvalidDigest", header);
    }
    await put("sum", "123456789", { "x-amz-checksum-sha256": checks["x-amz-checksum-sha256"]! });
    const readResponse = await send({ path: "/bucket/sum", headers: { "x-amz-checksum-mode": "ENABLED" } });
    assert.equal(readResponse.headers["x-amz-checksum-sha256"], checks["x-amz-checksum-sha256"]);
  });

  it("unsupported features are rejected, not ignored", async (t) => {
    const { send, put } = await startS3(t);
    for (const headers of [
      { "x-amz-acl": "public-read" },
      { "x-amz-tagging": "a=b" },
      { "x-amz-server-side-encryption": "aws:kms" },
    ] as Record<string, string>[])
      assert.equal((await put("a", "v", headers)).code, "NotImplemented", JSON.stringify(headers));
    assert.equal((await put("a", "v", { "x-amz-acl": "private" })).status, 200);
    assert.equal((await put("a", "v", { "x-amz-storage-class": "GLACIER" })).code, "InvalidStorageClass");
    for (const path of [
      "/bucket?versioning",
      "/bucket?acl",
      "/bucket/a?tagging",
      "/bucket/a?versionId=1",
      "/bucket?policy",
    ])
      assert.deepEqual([(await send({ path })).status, (await send({ path })).code], [501, "NotImplemented"], path);
    assert.equal((await send({ method: "PATCH", path: "/bucket" })).code, "MethodNotAllowed");
  });

  it("a multipart upload is listed, completed in part order, and read by part", async (t) => {
    const { send } = await startS3(t);
    const { text } = await send({ method: "POST", path: "/bucket/big?uploads", headers: { "content-type": "text/x" } });
    const [id] = xml(text, "UploadId");
    const upload = (part: number, body: string) =>
      send({ method: "PUT", path: `/bucket/big?partNumber=${part}&uploadId=${id}`, body });
    const etags = [await upload(1, "aaaaaaaaaaaa"), await upload(2, "bbbbbbbbbbbb"), await upload(3, "cc")].map(
      ({ headers }) => headers.etag!,
    );
    assert.deepEqual(xml((await send({ path: "/bucket?uploads" })).text, "UploadId"), [id]);
    const partList = await send({ path: `/bucket/big?uploadId=${id}&max-parts=2` });
    assert.deepEqual(
      [xml(partList.text, "PartNumber"), xml(partList.text, "NextPartNumberMarker"), xml(partList.text, "IsTruncated")],
      [["1", "2"], ["2"], ["true"]],
    );
    const complete = (order: number[]) =>
      send({
        method: "POST",
        path: `/bucket/big?uploadId=${id}`,
        body: `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${order
          .map(
            (part) =>
              `<Part><PartNumber>${part}</PartNumber><ETag>${etags[part - 1]!.replaceAll('"', "&quot;")}</ETag></Part>`,
          )
          .join("")}</CompleteMultipartUpload>`,
      });
    assert.equal((await complete([2, 1, 3])).code, "InvalidPartOrder");
    const completed = await complete([1, 2, 3]);
    assert.match(completed.text, /<ETag>&quot;[0-9a-f]{32}-3&quot;<\/ETag>/);
    const secondPart = await send({ path: "/bucket/big?partNumber=2" });
    assert.deepEqual(
      [secondPart.status, secondPart.text, secondPart.headers["x-amz-mp-parts-count"]],
      [206, "bbbbbbbbbbbb", "3"],
    );
    assert.equal((await send({ path: "/bucket/big?partNumber=4" })).code, "InvalidPartNumber");
    assert.equal((await send({ path: `/bucket/big?uploadId=${id}` })).code, "NoSuchUpload");
  });

  it("XML documents with an entity definition or an unexpected structure are rejected", async (t) => {
    const { send } = await startS3(t);
    const post = (body: string) => send({ method: "POST", path: "/bucket?delete", body });
    for (const body of [
      "",
      "<Delete>",
      "<Other/>",
      "<Delete></Delete>",
      "<Delete><Object></Object></Delete>",
      '<!DOCTYPE d [<!ENTITY e "x">]><Delete><Object><Key>&e;</Key></Object></Delete>',
      `<Delete>${"<Object><Key>k</Key></Object>".repeat(1001)}</Delete>`,
    ])
      assert.equal((await post(body)).code, "MalformedXML", body.slice(0, 60));
    assert.equal((await post("x".repeat(5 * 1024 * 1024))).code, "EntityTooLarge");
  });

  it("XML bodies of concurrent requests share a limited amount of memory, which is released after each request", async (t) => {
    const { send } = await startS3(t, { bodyMemory: { total: 300, perAccount: 200 } });
    const post = (padding: number) =>
      send({
        method: "POST",
        path: "/bucket?delete",
        body: `<Delete>${" ".repeat(padding)}<Object><Key>k</Key></Object></Delete>`,
      });
    for (let i = 0; i < 3; i++) {
      const tooLarge = await post(200);
      assert.deepEqual([tooLarge.status, tooLarge.code], [503, "SlowDown"]);
      assert.equal((await post(100)).status, 200);
    }
  });

  it("an XML body with a huge number of elements is rejected before it is parsed", async (t) => {
    const { send } = await startS3(t);
    const body = `<Delete><Object><Key>k</Key></Object>${"<a/>".repeat(300_000)}</Delete>`;
    assert.equal((await send({ method: "POST", path: "/bucket?delete", body })).code, "MalformedXML");
  });

  it("a multi-object delete accepts keys with escaped characters", async (t) => {
    const { send, put, r2, id } = await startS3(t);
    for (const key of ["a&b", "c d", "e"]) await put(encodeURIComponent(key), "v");
    const { text } = await send({
      method: "POST",
      path: "/bucket?delete",
      body: "<Delete><Object><Key>a&amp;b</Key></Object><Object><Key>c&#x20;d</Key></Object></Delete>",
    });
    assert.deepEqual(xml(text, "Key"), ["a&amp;b", "c d"]);
    assert.deepEqual(
      (await r2.buckets.list(id)).objects.map(({ key }) => key),
      ["e"],
    );
  });

  it("copies an object with its metadata or with new metadata, if its conditions hold", async (t) => {
    const { send, put } = await startS3(t);
    const { headers } = await put("from", "text", { "content-type": "text/x", "x-amz-meta-a": "1" });
    const copy = (more: Record<string, string>, to = "to") =>
      send({ method: "PUT", path: `/bucket/${to}`, headers: { "x-amz-copy-source": "/bucket/from", ...more } });
    assert.match((await copy({})).text, /<CopyObjectResult /);
    const copied = await send({ path: "/bucket/to" });
    assert.deepEqual(
      [copied.text, copied.headers["content-type"], copied.headers["x-amz-meta-a"]],
      ["text", "text/x", "1"],
    );
    await copy({ "x-amz-metadata-directive": "REPLACE", "content-type": "text/y" });
    const copiedWithNewMetadata = await send({ path: "/bucket/to" });
    assert.deepEqual(
      [copiedWithNewMetadata.headers["content-type"], copiedWithNewMetadata.headers["x-amz-meta-a"]],
      ["text/y", undefined],
    );
    assert.equal((await copy({ "x-amz-copy-source-if-none-match": headers.etag! })).code, "PreconditionFailed");
    assert.equal((await copy({}, "from")).code, "InvalidRequest");
    assert.equal((await copy({ "x-amz-metadata-directive": "REPLACE" }, "from")).status, 200);
    assert.equal((await copy({ "x-amz-copy-source": "none/from" })).code, "NoSuchBucket");
    assert.equal((await copy({ "x-amz-copy-source": "bucket/none" })).code, "NoSuchKey");
  });

  it("an object served from the API host is sandboxed; its own host serves it unchanged", async (t) => {
    const { send, put } = await startS3(t);
    await put("page.html", "<script>1</script>", { "content-type": "text/html" });
    const policyOf = ({ headers }: Awaited<ReturnType<typeof send>>) => [
      headers["content-security-policy"],
      headers["x-content-type-options"],
    ];
    const inert = ["sandbox; default-src 'none'", "nosniff"];
    for (const request of [
      { path: "/bucket/page.html" },
      { path: "/bucket/page.html", expires: 60 },
      { path: "/bucket/none" },
      { path: "/bucket/page.html", anonymous: true },
      { path: "/bucket?list-type=2" },
    ])
      assert.deepEqual(policyOf(await send(request)), inert, JSON.stringify(request));
    const script = { expires: 60, unsignedHeaders: { "service-worker": "script" } };
    assert.equal((await send({ path: "/bucket/page.html", ...script })).code, "AccessDenied");
    const ownHost = { path: "/page.html", host: `bucket.${ACCOUNT}.${DOMAIN}` };
    const page = await send(ownHost);
    assert.deepEqual([page.text, ...policyOf(page)], ["<script>1</script>", undefined, undefined]);
    assert.equal((await send({ ...ownHost, ...script })).status, 200);
  });

  it("CORS rules apply to preflights, responses and errors", async (t) => {
    const { send, put } = await startS3(t, { pagesNeedCors: true });
    await put("a", "text");
    const rule =
      "<CORSConfiguration><CORSRule><AllowedOrigin>https://*.example.com</AllowedOrigin><AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod><AllowedHeader>x-amz-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>60</MaxAgeSeconds></CORSRule></CORSConfiguration>";
    assert.equal((await send({ path: "/bucket?cors" })).code, "NoSuchCORSConfiguration");
    assert.equal((await send({ method: "PUT", path: "/bucket?cors", body: rule })).status, 200);
    assert.ok(
      (await send({ path: "/bucket?cors" })).text.includes("<AllowedOrigin>https://*.example.com</AllowedOrigin>"),
    );
    const origin = { origin: "https://app.example.com" };
    const preflight = (unsignedHeaders: Record<string, string>) =>
      send({ method: "OPTIONS", path: "/bucket/a", anonymous: true, unsignedHeaders });
    const allowedPreflight = await preflight({
      ...origin,
      "access-control-request-method": "PUT",
      "access-control-request-headers": "x-amz-date, X-Amz-Content-Sha256",
    });
    assert.deepEqual(
      [
        allowedPreflight.status,
        allowedPreflight.headers["access-control-allow-origin"],
        allowedPreflight.headers["access-control-max-age"],
      ],
      [204, origin.origin, "60"],
    );
    for (const preflightHeaders of [
      { ...origin, "access-control-request-method": "DELETE" },
      { origin: "https://example.org", "access-control-request-method": "GET" },
      { ...origin, "access-control-request-method": "PUT", "access-control-request-headers": "content-type" },
      {
        ...origin,
        "access-control-request-method": "PUT",
        "access-control-request-headers": Array.from({ length: 101 }, (_, i) => `x-amz-${i}`).join(),
      },
    ])
      assert.equal((await preflight(preflightHeaders)).code, "AccessForbidden", JSON.stringify(preflightHeaders));
    const readResponse = await send({ path: "/bucket/none", unsignedHeaders: origin });
    assert.deepEqual(
      [
        readResponse.code,
        readResponse.headers["access-control-allow-origin"],
        readResponse.headers["access-control-expose-headers"],
      ],
      ["NoSuchKey", origin.origin, "ETag"],
    );
    const crossOriginWrite = await send({
      method: "PUT",
      path: "/bucket/b",
      unsignedHeaders: { origin: "https://example.org" },
    });
    assert.equal(crossOriginWrite.code, "AccessForbidden");
    assert.equal((await send({ method: "DELETE", path: "/bucket?cors" })).status, 204);
    assert.equal((await preflight({ ...origin, "access-control-request-method": "GET" })).status, 403);
  });

  it("lifecycle rules are stored as in the v4 API", async (t) => {
    const { send, settings, id } = await startS3(t);
    assert.match((await send({ path: "/bucket?lifecycle" })).text, /Default Multipart Abort Rule/);
    const rules =
      "<LifecycleConfiguration><Rule><ID>old</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>3</Days></Expiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>";
    assert.equal((await send({ method: "PUT", path: "/bucket?lifecycle", body: rules })).status, 200);
    assert.deepEqual((await settings.get(id)).lifecycle, [
      {
        id: "old",
        enabled: true,
        conditions: { prefix: "logs/" },
        deleteObjectsTransition: { condition: { type: "Age", maxAge: 259_200 } },
        abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 86_400 } },
      },
    ]);
    assert.match((await send({ path: "/bucket?lifecycle" })).text, /<Days>3<\/Days>/);
    const tagged = rules.replace("<Prefix>logs/</Prefix>", "<Tag><Key>a</Key><Value>b</Value></Tag>");
    assert.equal((await send({ method: "PUT", path: "/bucket?lifecycle", body: tagged })).code, "NotImplemented");
    assert.equal((await send({ method: "DELETE", path: "/bucket?lifecycle" })).status, 204);
    assert.equal((await send({ path: "/bucket?lifecycle" })).code, "NoSuchLifecycleConfiguration");
  });

  it("buckets are created, found and deleted", async (t) => {
    const { send, put } = await startS3(t);
    assert.equal((await send({ method: "PUT", path: "/other" })).status, 200);
    assert.equal((await send({ method: "PUT", path: "/other" })).code, "BucketAlreadyOwnedByYou");
    assert.equal((await send({ method: "PUT", path: "/No" })).code, "InvalidBucketName");
    assert.deepEqual(xml((await send({ path: "/" })).text, "Name"), ["bucket", "other"]);
    assert.equal((await send({ method: "HEAD", path: "/other" })).status, 200);
    assert.match((await send({ path: "/other?location" })).text, />auto<\/LocationConstraint>/);
    await put("a", "v");
    assert.equal((await send({ method: "DELETE", path: "/bucket" })).code, "BucketNotEmpty");
    assert.equal((await send({ method: "DELETE", path: "/other" })).status, 204);
    assert.equal((await send({ method: "HEAD", path: "/other" })).status, 404);
    assert.equal((await send({ path: "/other?list-type=2" })).code, "NoSuchBucket");
  });
});
