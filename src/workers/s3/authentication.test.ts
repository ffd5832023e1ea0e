import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { describe, it } from "node:test";
import { scopeText, sha256Hex, signingKey, signText } from "../../protocol/aws-sigv4/index.ts";
import { ACCOUNT, DOMAIN, sign, startS3, type TestRequest } from "./s3.testing.ts";

describe("authentication of the S3 API", () => {
  it("accepts signed headers and presigned URLs, and rejects other requests with the matching error code", async (t) => {
    const { send, put, clock } = await startS3(t);
    assert.equal((await put("a", "text")).status, 200);
    const get: TestRequest = { path: "/bucket/a" };
    const minute = 60_000;
    const cases: [Partial<TestRequest>, number, string | undefined][] = [
      [{}, 200, undefined],
      [{ expires: 60 }, 200, undefined],
      [{ anonymous: true }, 401, "Unauthorized"],
      [{ accessKeyId: "other" }, 401, "Unauthorized"],
      [{ secret: "other" }, 403, "SignatureDoesNotMatch"],
      [{ expires: 60, secret: "other" }, 403, "SignatureDoesNotMatch"],
      [{ service: "sqs" }, 400, "AuthorizationHeaderMalformed"],
      [{ signedAt: clock.now() - 14 * minute }, 200, undefined],
      [{ signedAt: clock.now() - 16 * minute }, 403, "RequestTimeTooSkewed"],
      [{ signedAt: clock.now() + 16 * minute }, 403, "RequestTimeTooSkewed"],
      [{ signedAt: clock.now() - 2 * minute, expires: 60 }, 400, "ExpiredRequest"],
      [{ signedAt: clock.now() - 2 * minute, expires: 600 }, 200, undefined],
      [{ expires: 604_801 }, 400, "AuthorizationHeaderMalformed"],
      [{ unsignedHeaders: { "x-amz-acl": "private" } }, 403, "AccessDenied"],
      [{ expires: 60, unsignedHeaders: { authorization: "AWS4-HMAC-SHA256 x" } }, 400, "InvalidArgument"],
      [{ payloadHash: "anything" }, 400, "InvalidArgument"],
      [{ anonymous: true, headers: { authorization: "Bearer token" } }, 400, "AuthorizationHeaderMalformed"],
    ];
    for (const [change, status, code] of cases) {
      const response = await send({ ...get, ...change });
      assert.deepEqual([response.status, response.code], [status, code], `${JSON.stringify(change)} ${response.text}`);
    }
  });

  it("only a request with a valid signature counts as a use of its access key", async (t) => {
    const { send, keys } = await startS3(t);
    let uses = 0;
    keys.set("key", { secret: "secret", allows: () => true, recordUse: () => void uses++ });
    await send({ path: "/", secret: "other" });
    assert.equal(uses, 0);
    await send({ path: "/" });
    assert.equal(uses, 1);
  });

  it("failed attempts from a network are limited, except with access keys that it used before", async (t) => {
    const { send, keys, clock } = await startS3(t, { failures: 3 });
    keys.set("mine", { secret: "secret", allows: () => true });
    assert.equal((await send({ path: "/", accessKeyId: "mine" })).status, 200);
    for (const wrong of [{ secret: "other" }, { accessKeyId: "unknown" }, { secret: "other", expires: 60 }])
      assert.match((await send({ path: "/", ...wrong })).code!, /^(SignatureDoesNotMatch|Unauthorized)$/);
    for (const request of [{}, { secret: "other" }, { accessKeyId: "unknown" }]) {
      const { status, code } = await send({ path: "/", ...request });
      assert.deepEqual([status, code], [503, "SlowDown"], JSON.stringify(request));
    }
    assert.equal((await send({ path: "/", accessKeyId: "mine" })).status, 200);
    clock.advance(300_000);
    assert.equal((await send({ path: "/" })).status, 200);
  });

  it("a signature covers the method, the path, the query and the body", async (t) => {
    const { send, put, port, clock } = await startS3(t);
    await put("a", "text");
    const { target, headers } = sign({
      path: `/s3/${ACCOUNT}/bucket/a`,
      host: `127.0.0.1:${port}`,
      signedAt: clock.now(),
    });
    for (const [method, path] of [
      ["DELETE", target],
      ["GET", target.replace("/a", "/b")],
      ["GET", `${target}?partNumber=1`],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
      assert.equal(response.status, 403, `${method} ${path}`);
    }
    const body = { method: "PUT", path: "/bucket/b", body: "longer text", payloadHash: "0".repeat(64) };
    assert.equal((await send(body)).code, "XAmzContentSHA256Mismatch");
    assert.equal((await send({ path: "/bucket/b" })).code, "NoSuchKey");
  });

  it("an access key needs the permission for the operation on the account", async (t) => {
    const { send, keys, put } = await startS3(t);
    await put("a", "text");
    keys.set("reader", {
      secret: "secret",
      allows: (permission, on) =>
        /Workers R2 Storage( Bucket Item)? Read/.test(permission) && "account" in on && on.account === ACCOUNT,
    });
    const readOnlyKey = { accessKeyId: "reader" };
    assert.equal((await send({ path: "/bucket/a", ...readOnlyKey })).status, 200);
    assert.equal((await send({ path: "/", ...readOnlyKey })).status, 200);
    for (const [method, path] of [
      ["PUT", "/bucket/a"],
      ["DELETE", "/bucket/a"],
      ["PUT", "/other"],
      ["POST", "/bucket?delete"],
      ["PUT", "/bucket?cors"],
    ] as const)
      assert.equal((await send({ method, path, ...readOnlyKey })).code, "AccessDenied", `${method} ${path}`);
    assert.equal(
      (await send({ path: "/x", host: `${"b".repeat(32)}.${DOMAIN}`, ...readOnlyKey })).code,
      "AccessDenied",
    );
  });

  it("an access key for the objects of one bucket cannot access other buckets", async (t) => {
    const { send, keys, put, r2 } = await startS3(t);
    await put("a", "text");
    await r2.bucketList.create(ACCOUNT, "other");
    keys.set("item", {
      secret: "secret",
      allows: (permission, on) =>
        permission.startsWith("Workers R2 Storage Bucket Item ") && "bucket" in on && on.bucket === "bucket",
    });
    const bucketKey = { accessKeyId: "item" };
    assert.equal((await send({ path: "/bucket/a", ...bucketKey })).text, "text");
    assert.equal((await send({ method: "PUT", path: "/bucket/b", body: "new", ...bucketKey })).status, 200);
    const bucketList = (await send({ path: "/", ...bucketKey })).text;
    assert.ok(bucketList.includes("<Name>bucket</Name>") && !bucketList.includes("<Name>other</Name>"), bucketList);
    for (const [method, path, headers] of [
      ["GET", "/other?list-type=2", {}],
      ["GET", "/absent?list-type=2", {}],
      ["GET", "/bucket?cors", {}],
      ["PUT", "/bucket?cors", {}],
      ["DELETE", "/bucket", {}],
      ["PUT", "/new", {}],
      ["PUT", "/bucket/copy", { "x-amz-copy-source": "other/a" }],
    ] as const)
      assert.equal((await send({ method, path, headers, ...bucketKey })).code, "AccessDenied", `${method} ${path}`);
  });

  it("pages of the bucket list contain only permitted buckets, and continuation tokens name no others", async (t) => {
    const { send, keys, r2 } = await startS3(t);
    const mine = ["b-mine", "f-mine", "h-mine"];
    for (const name of ["a-other", "c-other", "e-other", "g-other", "i-other", ...mine])
      await r2.bucketList.create(ACCOUNT, name);
    keys.set("item", { secret: "secret", allows: (_, on) => "bucket" in on && on.bucket.endsWith("-mine") });
    const pages: string[][] = [];
    let token: string | undefined = "";
    do {
      const query: string = token === "" ? "" : `&continuation-token=${token}`;
      const { text } = await send({ path: `/?max-buckets=1${query}`, accessKeyId: "item" });
      pages.push([...text.matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name!));
      token = /<ContinuationToken>(.*?)<\/ContinuationToken>/.exec(text)?.[1];
      if (token !== undefined) assert.doesNotMatch(Buffer.from(token, "base64url").toString(), /other|^bucket$/);
    } while (token !== undefined);
    assert.deepEqual(
      pages,
      mine.map((name) => [name]),
    );
  });

  it("a policy that denies the objects of a bucket also applies to its settings and its deletion", async (t) => {
    const { send, keys } = await startS3(t);
    keys.set("key", { secret: "secret", allows: (_, on) => !("bucket" in on && /^(bucket|denied)$/.test(on.bucket)) });
    for (const [method, path] of [
      ["GET", "/bucket?cors"],
      ["PUT", "/bucket?lifecycle"],
      ["DELETE", "/bucket?cors"],
      ["DELETE", "/bucket"],
      ["GET", "/bucket/a"],
      ["PUT", "/denied"],
    ] as const)
      assert.equal((await send({ method, path })).code, "AccessDenied", `${method} ${path}`);
    assert.equal((await send({ method: "PUT", path: "/other" })).status, 200);
  });

  it("an upload stores nothing if its access key is revoked in the meantime", async (t) => {
    const { send, keys, port, clock } = await startS3(t);
    const { target, headers } = sign({
      method: "PUT",
      path: `/s3/${ACCOUNT}/bucket/slow`,
      host: `127.0.0.1:${port}`,
      signedAt: clock.now(),
      payloadHash: "UNSIGNED-PAYLOAD",
    });
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const headerLines = Object.entries({ ...headers, "content-length": "6", connection: "close" });
    socket.write(
      `PUT ${target} HTTP/1.1\r\n${headerLines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\nabc`,
    );
    const { promise: checked, resolve } = Promise.withResolvers<void>();
    const key = keys.get("key")!;
    keys.set("key", { ...key, allows: () => (resolve(), true) });
    await checked;
    keys.delete("key");
    socket.write("def");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(socket, "close");
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 401 [^]*<Code>Unauthorized<\/Code>/);
    keys.set("key", key);
    assert.equal((await send({ path: "/bucket/slow" })).code, "NoSuchKey");
  });

  it("a body of signed chunks is stored unless a chunk has been modified", async (t) => {
    const { send, port, clock } = await startS3(t);
    const request: TestRequest = {
      method: "PUT",
      path: `/s3/${ACCOUNT}/bucket/chunks`,
      host: `127.0.0.1:${port}`,
      signedAt: clock.now(),
      payloadHash: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
      headers: { "content-encoding": "aws-chunked,gzip", "x-amz-decoded-content-length": "8" },
    };
    const { headers } = sign(request);
    const time = headers["x-amz-date"]!;
    const scope = { day: time.slice(0, 8), region: "auto", service: "s3" };
    const key = signingKey("secret", scope);
    let previousSignature = /Signature=(\w+)/.exec(headers.authorization!)![1]!;
    const chunk = (data: string) => {
      const lines = [
        "AWS4-HMAC-SHA256-PAYLOAD",
        time,
        scopeText(scope),
        previousSignature,
        sha256Hex(""),
        sha256Hex(data),
      ];
      previousSignature = signText(key, lines.join("\n"));
      return `${data.length.toString(16)};chunk-signature=${previousSignature}\r\n${data}\r\n`;
    };
    const body = chunk("first") + chunk("two") + chunk("");
    const upload = async (bytes: string) => {
      const { "content-length": _, ...sent } = headers;
      const response = await fetch(`http://127.0.0.1:${port}${request.path}`, {
        method: "PUT",
        headers: sent,
        body: bytes,
      });
      return [response.status, /<Code>(\w+)/.exec(await response.text())?.[1]];
    };
    assert.deepEqual(await upload(body.replace("two", "TWO")), [403, "SignatureDoesNotMatch"]);
    assert.deepEqual(await upload(body.slice(0, -90)), [400, "IncompleteBody"]);
    assert.deepEqual(await upload(body), [200, undefined]);
    const storedObject = await send({ method: "HEAD", path: "/bucket/chunks" });
    assert.deepEqual([storedObject.headers["content-length"], storedObject.headers["content-encoding"]], ["8", "gzip"]);
  });

  it("host-based endpoints accept path-style and virtual-hosted-style bucket addresses", async (t) => {
    const { send, put } = await startS3(t);
    await put("a/b", "text");
    const host = `${ACCOUNT}.${DOMAIN}`;
    assert.equal((await send({ path: "/bucket/a/b", host })).text, "text");
    assert.equal((await send({ path: "/a/b", host: `bucket.${host}` })).text, "text");
    assert.match((await send({ path: "/?list-type=2", host: `bucket.${host}` })).text, /<Key>a\/b<\/Key>/);
    assert.equal((await send({ path: "/bucket/a/b", host: `${ACCOUNT}.eu.${DOMAIN}` })).code, "NoSuchBucket");
  });
});
