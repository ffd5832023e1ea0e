import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { padded, tusCreate, TUS } from "../faults/stream/senders.ts";
import { waitForFinalState, until } from "../faults/stream/server.ts";
import { startFaultyS3 } from "../support/faulty-s3.ts";
import { plainMessage, mailFixtureOf, sendRaw } from "../support/mail-world.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { programEntry } from "../support/program.ts";
import { createS3Client, onS3, type TestBucket } from "../support/radosgw.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { sendHttpRequest, createApi, sendMail, TOKEN } from "./serve-client.ts";

const MIB = 1024 * 1024;
const REJECTS = `export default { email(message) { message.setReject("handled"); } };`;

interface Finding {
  kind: string;
  repaired: boolean;
}

/** Runs a command of the CLI and returns what it prints as JSON. */
// oxlint-disable-next-line no-explicit-any
function runJson(command: string[], env: Record<string, string>): Promise<any> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [programEntry, ...command, "--json"],
      { env: { ...process.env, ...env } },
      (_, output, errors) => {
        try {
          resolve(JSON.parse(output));
        } catch {
          reject(new Error(`${command.join(" ")} printed ${output}${errors}`));
        }
      },
    );
  });
}

/** Resolves with the URL of the first segment of the first rendition. */
async function firstSegment(manifest: string): Promise<URL> {
  const entryOf = async (url: URL | string) => new URL(/^[^#\s].*$/m.exec(await (await fetch(url)).text())![0], url);
  return entryOf(await entryOf(manifest));
}

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

  test(
    "two processes share workers, values and uploads in a bucket; it is checked, and rows are backed up without it",
    needsFfmpeg,
    async (t) => {
      const bucket = await openBucket(t);
      const env = await shared(bucket);
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
      const video = await waitForFinalState({ api: b }, uid);
      assert.equal(video.status.state, "ready");
      const original = await b.call("get", `stream/${uid}`);
      assert.equal(original.body.result.size, bytes.length);

      const { id: zone } = await b.ok("post", "/zones", { body: { name: "example.com", account: { id: b.account } } });
      const findings = (await b.ok("get", `/zones/${zone}/email/doctor`)) as { check: string; found: string }[];
      assert.match(
        findings.find(({ check }) => check === "objects in S3")!.found,
        /^stored and deleted an object, round trip \d+ ms$/,
      );

      const { dataDirectory } = two.ready;
      const run = (command: string[], changes: Record<string, string> = {}) => runJson(command, { ...env, ...changes });
      const healthy = await run(["check", "--data-dir", dataDirectory]);
      assert.deepEqual([healthy.ok, healthy.findings], [true, []]);
      assert.ok(healthy.objects >= 4);
      const backups = await temporaryFolder(t, "backups");
      const backup = await run(["backup", "create", backups, "--data-dir", dataDirectory]);
      assert.equal(backup.objects_url, env.REELPOST_OBJECTS_URL);
      assert.ok(backup.rows > 50);
      assert.deepEqual(await two.stop(), { code: 0, signal: null });

      // The restored rows refer to the objects in the bucket.
      const target = {
        REELPOST_DATABASE_URL: await cluster!.createDatabase(),
        REELPOST_DATA_DIR: await temporaryFolder(t, "restored"),
      };
      const withoutBucket = await run(["backup", "restore", backups], { ...target, REELPOST_OBJECTS_URL: "" });
      assert.match(JSON.stringify(withoutBucket), /E_BACKUP_BUCKET_NEEDED/);
      assert.equal((await run(["backup", "restore", backups], target)).rows, backup.rows);
      const restored = await spawnServe(t, {
        dataDirectory: target.REELPOST_DATA_DIR,
        env: { ...env, REELPOST_DATABASE_URL: target.REELPOST_DATABASE_URL },
      });
      const c = createApi(restored.ready, TOKEN);
      assert.equal((await c.call("get", `storage/kv/namespaces/${namespace}/values/note`)).body, large);
      await restored.stop();

      // An object that a row needs is missing, and a segment is empty.
      const client = createS3Client(bucket);
      t.after(() => client.destroy());
      const at = { Bucket: bucket.bucket };
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ ...at, Prefix: "kv/" }));
      await client.send(new DeleteObjectCommand({ ...at, Key: Contents[0]!.Key }));
      await client.send(new PutObjectCommand({ ...at, Key: `stream/${uid}/360p/7.m4s`, Body: "", ContentLength: 0 }));
      const damaged = await run(["check", "--repair", "--data-dir", dataDirectory]);
      assert.deepEqual(damaged.findings.map(({ kind, repaired }: Finding) => [kind, repaired]).sort(), [
        ["kv_value", true],
        ["video_segment", true],
      ]);
      assert.deepEqual((await run(["check", "--data-dir", dataDirectory])).findings, []);
      const removed = await readdir(`${dataDirectory}/removed`, { recursive: true });
      assert.ok(removed.some((name) => name.endsWith(`objects/stream/${uid}/360p/7.m4s`)));
    },
  );

  test(
    "clients receive temporary errors while the bucket is unavailable, and nothing acknowledged is lost",
    needsFfmpeg,
    async (t) => {
      const bucket = await openBucket(t);
      const proxy = await startFaultyS3(t, bucket.endpoint);
      const url = bucket.url.replace(encodeURIComponent(bucket.endpoint), encodeURIComponent(proxy.endpoint));
      const server = await spawnServe(t, {
        env: {
          ...(await shared({ url, env: bucket.env })),
          // The next hop is down, so accepted mail is stored in the queue.
          REELPOST_OUTBOUND_DELIVER: "smart_host",
          REELPOST_OUTBOUND_SMART_HOSTS: "smtp://127.0.0.1:9",
          REELPOST_AUTHENTICATION_ENABLED: "false",
          // Without a cache in memory, segments are read from the local copies.
          REELPOST_STREAM_SEGMENT_CACHE_MB: "0",
        },
      });
      const api = createApi(server.ready, TOKEN);
      const mail = await mailFixtureOf(server.ready, "routed.example");
      await mail.destination("somebody@next.example");
      await mail.rule("*", "forward", "somebody@next.example");
      const sendBytes = (size: number) =>
        sendRaw(server.ready.smtp!.port, {
          to: "info@routed.example",
          raw: plainMessage("Hello", {
            body: "x"
              .repeat(70)
              .concat("\r\n")
              .repeat(size / 72),
          }),
        });
      const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
      const value = (name: string) => `storage/kv/namespaces/${namespace}/values/${name}`;
      const large = "x".repeat(3_000_000);
      await api.ok("put", value("before"), { body: large });
      const bytes = await readFile(await clip());
      const patch = (path: string) =>
        fetch(new URL(path, server.ready.url), {
          method: "PATCH",
          headers: { ...TUS, "upload-offset": "0", "content-type": "application/offset+octet-stream" },
          body: bytes,
        });
      const watched = await tusCreate(server, bytes.length);
      assert.equal((await patch(watched.path)).status, 204);
      assert.equal((await waitForFinalState({ api }, watched.uid)).status.state, "ready");
      const segment = await firstSegment(`${server.ready.url}/${watched.uid}/manifest/video.m3u8`);
      assert.equal((await fetch(segment)).status, 200);
      assert.equal((await sendHttpRequest(server.ready, "/readyz?role=api")).status, 200);

      proxy.fault = () => ({ kind: "reset" });
      const [put, get, small] = await Promise.all([
        api.call("put", value("during"), { body: large }),
        api.call("get", value("before")),
        api.call("put", value("small"), { body: "fits into a row" }),
      ]);
      // The server reads the value that it stored from its local cache.
      assert.deepEqual([put.status, get.status, small.status], [503, 200, 200]);
      const [seen, smallMail, largeMail] = await Promise.all([fetch(segment), sendBytes(10_000), sendBytes(200_000)]);
      assert.equal(seen.status, 200);
      assert.match(smallMail, /^250 /);
      assert.match(largeMail, /^451 4\.3\.0 /);
      await until(
        async () => (await sendHttpRequest(server.ready, "/readyz?role=api")).status === 503,
        "the bucket is missed",
      );
      assert.equal((await sendHttpRequest(server.ready, "/readyz?role=smtp")).status, 200);
      const { path } = await tusCreate(server, bytes.length);
      assert.equal((await patch(path)).status, 503);
      proxy.fault = () => ({ kind: "status", status: 403, code: "QuotaExceeded" });
      assert.equal((await api.call("put", value("during"), { body: large })).status, 507);
      assert.equal((await patch(path)).status, 507);
      assert.match(await sendBytes(200_000), /^452 4\.3\.1 /);

      proxy.fault = () => undefined;
      assert.equal((await api.call("get", value("before"))).body, large);
      assert.equal((await api.call("put", value("during"), { body: large })).status, 200);
      const head = await fetch(new URL(path, server.ready.url), { method: "HEAD", headers: TUS });
      assert.equal(head.headers.get("upload-offset"), "0");
      assert.equal((await patch(path)).status, 204);
      assert.match(await sendBytes(200_000), /^250 /);
      await until(
        async () => (await sendHttpRequest(server.ready, "/readyz?role=api")).status === 200,
        "the bucket is found",
      );
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
