import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { padded, tusCreate, TUS } from "../faults/stream/senders.ts";
import { settled } from "../faults/stream/server.ts";
import { startFaultyS3 } from "../support/faulty-s3.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { onS3, type TestBucket } from "../support/radosgw.ts";
import { spawnServe } from "../support/serve.ts";
import { createApi, sendMail, TOKEN } from "./serve-client.ts";

const MIB = 1024 * 1024;
const REJECTS = `export default { email(message) { message.setReject("handled"); } };`;

onS3((openBucket) => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());

  async function shared({ url, env }: Pick<TestBucket, "url" | "env">) {
    assert.ok(cluster, "PostgreSQL is not installed");
    return {
      ...env,
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_DATABASE_URL: await cluster.createDatabase(),
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_URL: url,
    };
  }

  test("two processes share workers, values and uploads in a bucket", needsFfmpeg, async (t) => {
    const env = await shared(await openBucket(t));
    const [one, two] = await Promise.all([spawnServe(t, { env }), spawnServe(t, { env })]);
    const [a, b] = [createApi(one.ready, TOKEN), createApi(two.ready, TOKEN)];
    const { id: namespace } = await a.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
    const large = "x".repeat(3_000_000);
    await a.ok("put", `storage/kv/namespaces/${namespace}/values/note`, { body: large });
    assert.equal((await b.call("get", `storage/kv/namespaces/${namespace}/values/note`)).body, large);
    await a.deploy("mailbox", REJECTS);
    assert.match((await sendMail(two.ready, "mailbox@main.localhost")).text, /^555 .*handled/);

    // The upload begins in one process and resumes in the other.
    const bytes = await padded(await clip(), 6 * MIB);
    // The minimum size of an upload part.
    const half = 5 * MIB;
    const { uid, path } = await tusCreate(one, bytes.length);
    const patch = (offset: number, body: Buffer, origin: string) =>
      fetch(new URL(path, origin), {
        method: "PATCH",
        headers: { ...TUS, "upload-offset": String(offset), "content-type": "application/offset+octet-stream" },
        body,
      });
    assert.equal((await patch(0, bytes.subarray(0, half), one.ready.url)).status, 204);
    await one.stop();
    const head = await fetch(new URL(path, two.ready.url), { method: "HEAD", headers: TUS });
    assert.equal(head.headers.get("upload-offset"), String(half));
    assert.equal((await patch(half, bytes.subarray(half), two.ready.url)).status, 204);
    const video = await settled({ api: b }, uid);
    assert.equal(video.status.state, "ready");
    const original = await b.call("get", `stream/${uid}`);
    assert.equal(original.body.result.size, bytes.length);

    const { id: zone } = await b.ok("post", "/zones", { body: { name: "example.com", account: { id: b.account } } });
    const findings = (await b.ok("get", `/zones/${zone}/email/doctor`)) as { check: string; found: string }[];
    assert.match(
      findings.find(({ check }) => check === "objects in S3")!.found,
      /^stored and deleted an object, round trip \d+ ms$/,
    );
    assert.deepEqual(await two.stop(), { code: 0, signal: null });
  });

  test(
    "clients receive temporary errors while the bucket is away, and nothing acknowledged is lost",
    needsFfmpeg,
    async (t) => {
      const bucket = await openBucket(t);
      const proxy = await startFaultyS3(t, bucket.endpoint);
      const url = bucket.url.replace(encodeURIComponent(bucket.endpoint), encodeURIComponent(proxy.endpoint));
      const server = await spawnServe(t, { env: await shared({ url, env: bucket.env }) });
      const api = createApi(server.ready, TOKEN);
      const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
      const value = (name: string) => `storage/kv/namespaces/${namespace}/values/${name}`;
      const large = "x".repeat(3_000_000);
      await api.ok("put", value("before"), { body: large });

      proxy.fault = () => ({ kind: "reset" });
      const [put, get, small] = await Promise.all([
        api.call("put", value("during"), { body: large }),
        api.call("get", value("before")),
        api.call("put", value("small"), { body: "fits into a row" }),
      ]);
      // The server reads the value that it stored from its local cache.
      assert.deepEqual([put.status, get.status, small.status], [503, 200, 200]);
      const bytes = await readFile(await clip());
      const { path } = await tusCreate(server, bytes.length);
      const patch = () =>
        fetch(new URL(path, server.ready.url), {
          method: "PATCH",
          headers: { ...TUS, "upload-offset": "0", "content-type": "application/offset+octet-stream" },
          body: bytes,
        });
      assert.equal((await patch()).status, 503);
      proxy.fault = () => ({ kind: "status", status: 403, code: "QuotaExceeded" });
      assert.equal((await api.call("put", value("during"), { body: large })).status, 507);

      proxy.fault = () => undefined;
      assert.equal((await api.call("get", value("before"))).body, large);
      assert.equal((await api.call("put", value("during"), { body: large })).status, 200);
      const head = await fetch(new URL(path, server.ready.url), { method: "HEAD", headers: TUS });
      assert.equal(head.headers.get("upload-offset"), "0");
      assert.equal((await patch()).status, 204);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    },
  );

  test("does not start with another bucket, a missing bucket, wrong credentials or an invalid URL", async (t) => {
    const env = await shared(await openBucket(t));
    const one = await spawnServe(t, { env });
    await one.stop();
    const other = await openBucket(t);
    const refused = (changes: Record<string, string>, reason: RegExp) =>
      assert.rejects(spawnServe(t, { env: { ...env, ...changes } }), reason);
    await refused({ REELPOST_OBJECTS_URL: other.url }, /exit code 1.*other_objects/s);
    await refused({ REELPOST_OBJECTS_URL: "" }, /exit code 1.*other_objects/s);
    await refused(
      { REELPOST_OBJECTS_URL: env.REELPOST_OBJECTS_URL.replace("s3://", "s3://no-such-bucket-") },
      /exit code 1.*the bucket no-such-bucket-.* does not exist.*Create the bucket/s,
    );
    await refused({ AWS_SECRET_ACCESS_KEY: "wrong" }, /exit code 1.*SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/s);
    await refused({ REELPOST_OBJECTS_URL: "s3://bucket?zone=eu" }, /exit code 1.*unknown parameter zone/s);
  });
});
