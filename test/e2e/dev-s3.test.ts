import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { failsAs, getSignedUrl, s3, s3Client } from "../interop/aws-sdk-s3.ts";
import { createScope, makeProject, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    const key = new URL(request.url).pathname.slice(1);
    if (request.method === "PUT") { await env.FILES.put(key, request.body); return new Response("stored"); }
    const object = await env.FILES.get(key);
    return new Response(object?.body ?? "none");
  },
};
`;

describe("the S3 API in development", () => {
  const scope = createScope();
  let server: TestServer;
  let client: ReturnType<typeof s3Client>;
  const Bucket = "dev-files";
  const localCredentials = { accessKeyId: "local", secretAccessKey: "local" };
  before(async () => {
    const folder = await makeProject(
      scope,
      { "src/index.ts": WORKER },
      { name: "files", r2_buckets: [{ binding: "FILES", bucket_name: Bucket }] },
    );
    server = await serve(scope, folder);
    client = s3Client(`${server.url}/cdn-cgi/s3`, localCredentials);
    scope.after(async () => client.destroy());
  });
  after(scope.close);
  const send = (name: string, input: object) => client.send(new s3[`${name}Command`](input));

  it("shares the buckets of the worker", async () => {
    assert.equal((await send("ListBuckets", {})).Buckets[0].Name, Bucket);
    await send("PutObject", { Bucket, Key: "a", Body: "from s3" });
    assert.equal(await (await fetch(`${server.url}/a`)).text(), "from s3");
    await fetch(`${server.url}/b`, { method: "PUT", body: "from worker" });
    assert.equal(await (await send("GetObject", { Bucket, Key: "b" })).Body.transformToString(), "from worker");
  });

  it("handles requests with and without a trailing slash in the endpoint", async () => {
    for (const suffix of ["", "/", "?prefix=a"])
      assert.match(
        await (await fetch(`${server.url}/cdn-cgi/s3${suffix}`)).text(),
        /<Code>Unauthorized<\/Code>/,
        suffix,
      );
    assert.equal(await (await fetch(`${server.url}/cdn-cgi/s3x`)).text(), "none");
  });

  it("accepts presigned URLs and rejects other access keys", async () => {
    const url = await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: "a" }), { expiresIn: 60 });
    assert.equal(await (await fetch(url)).text(), "from s3");
    const otherClient = s3Client(`${server.url}/cdn-cgi/s3`, { ...localCredentials, secretAccessKey: "other" });
    await assert.rejects(otherClient.send(new s3.ListBucketsCommand({})), failsAs("SignatureDoesNotMatch", 403));
    otherClient.destroy();
  });

  it("accepts writes from cross-site pages only if a CORS rule allows them", async () => {
    const url = await getSignedUrl(client, new s3.PutObjectCommand({ Bucket, Key: "page" }), { expiresIn: 60 });
    const upload = async () =>
      (await fetch(url, { method: "PUT", body: "x", headers: { origin: "http://localhost:3000" } })).status;
    assert.equal(await upload(), 403);
    await send("PutBucketCors", {
      Bucket,
      CORSConfiguration: { CORSRules: [{ AllowedOrigins: ["http://localhost:3000"], AllowedMethods: ["PUT"] }] },
    });
    assert.equal(await upload(), 200);
  });
});
