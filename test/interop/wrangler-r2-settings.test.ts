import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";
import { credentialsOf, s3, s3Client } from "./aws-sdk-s3.ts";

/** Stores the received events in the same bucket, under a prefix that no notification rule matches. */
const WORKER = `
export default {
  fetch: () => new Response("ok"),
  async queue(batch, env) {
    for (const { body } of batch.messages)
      await env.FILES.put("events/" + body.action + "/" + body.object.key.replace("/", "_"), JSON.stringify(body));
  },
};
`;

describe("wrangler r2 bucket settings", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let client: ReturnType<typeof s3Client>;
  before(async () => {
    // Custom domains apply only if the server has a public URL.
    platform = await startPlatform(scope, { REELPOST_HTTP_PUBLIC_URL: "https://www.platform.example" });
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "listener",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        r2_buckets: [{ binding: "FILES", bucket_name: "films" }],
        queues: { consumers: [{ queue: "events", max_batch_timeout: 0 }] },
      }),
      "worker.js": WORKER,
      "note.txt": "hello",
      "cors.json": JSON.stringify({
        rules: [{ allowed: { origins: ["https://app.example"], methods: ["GET"] }, maxAgeSeconds: 60 }],
      }),
    });
    await wrangler.run(["r2", "bucket", "create", "films"]);
    client = s3Client(`${platform.url}/s3/${platform.account}`, await credentialsOf(platform));
    scope.after(async () => client.destroy());
  });
  after(scope.close);

  const bucket = (...args: string[]) => wrangler.run(["r2", "bucket", ...args]);
  async function visit(host: string, path: string, headers: Record<string, string> = {}) {
    const clientRequest = request(`${platform.url}${path}`, { headers: { host, ...headers }, agent: false });
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return { status: response.statusCode, headers: response.headers, text };
  }

  it("cors set, list and delete manage the CORS policy", async () => {
    await bucket("cors", "set", "films", "--file", "cors.json", "-y");
    assert.match((await bucket("cors", "list", "films")).text, /allowed_origins:\s+https:\/\/app\.example/);
    await bucket("cors", "delete", "films", "-y");
    const { text } = await wrangler.attempt(["r2", "bucket", "cors", "list", "films"]);
    assert.match(text, /CORS configuration does not exist[^]*10059/);
    await bucket("cors", "set", "films", "--file", "cors.json", "-y");
  });

  it("lifecycle add, list and remove manage the lifecycle rules", async () => {
    assert.match((await bucket("lifecycle", "list", "films")).text, /Default Multipart Abort Rule/);
    await bucket("lifecycle", "add", "films", "old-logs", "logs/", "--expire-days", "3", "-y");
    assert.match((await bucket("lifecycle", "list", "films")).text, /old-logs[^]*Expire objects after 3 days/);
    const { Rules } = await client.send(new s3.GetBucketLifecycleConfigurationCommand({ Bucket: "films" }));
    assert.deepEqual(Rules.at(-1).Expiration, { Days: 3 });
    await bucket("lifecycle", "remove", "films", "--name", "old-logs");
    assert.doesNotMatch((await bucket("lifecycle", "list", "films")).text, /old-logs/);
  });

  it("dev-url enable makes the bucket public with its CORS rules, and dev-url disable reverts that", async () => {
    await wrangler.run(["r2", "object", "put", "films/a/note.txt", "--file", "note.txt", "--remote"]);
    const { text } = await bucket("dev-url", "enable", "films", "-y");
    const [host] = /pub-[0-9a-f]{32}\.public\.localhost/.exec(text) ?? [];
    assert.ok(host, text);
    const read = await visit(host, "/a/note.txt", { origin: "https://app.example" });
    assert.deepEqual(
      [read.status, read.text, read.headers["access-control-allow-origin"]],
      [200, "hello", "https://app.example"],
    );
    assert.equal((await visit(host, "/none")).status, 404);
    await bucket("dev-url", "disable", "films", "-y");
    assert.equal((await visit(host, "/a/note.txt")).status, 404);
  });

  it("domain add, list, update and remove manage custom domains", async () => {
    const zone = await platform.ask<{ id: string }>("/zones", {
      method: "POST",
      body: JSON.stringify({ name: "films.example", account: { id: platform.account } }),
    });
    const add = ["domain", "add", "films", "--domain", "cdn.films.example", "--zone-id", zone.id, "-y"];
    await bucket(...add);
    assert.equal((await visit("cdn.films.example", "/a/note.txt")).text, "hello");
    assert.match((await bucket("domain", "list", "films")).text, /domain:\s+cdn\.films\.example[^]*enabled:\s+Yes/);
    await bucket("domain", "update", "films", "--domain", "cdn.films.example", "--min-tls", "1.2");
    assert.match(
      (await bucket("domain", "get", "films", "--domain", "cdn.films.example")).text,
      /min_tls_version:\s+1\.2/,
    );
    await bucket("domain", "remove", "films", "--domain", "cdn.films.example", "-y");
    assert.notEqual((await visit("cdn.films.example", "/a/note.txt")).text, "hello");
    const { code } = await wrangler.attempt(["r2", "bucket", ...add.map((word) => word.replace("cdn.films", "other"))]);
    assert.notEqual(code, 0);
  });

  it("notification create, list and delete manage event notifications, which a worker receives", async () => {
    await wrangler.run(["queues", "create", "events"]);
    await wrangler.run(["deploy"]);
    await bucket(
      "notification",
      "create",
      "films",
      "--event-type",
      "object-create",
      "--queue",
      "events",
      "--prefix",
      "in/",
    );
    await bucket(
      "notification",
      "create",
      "films",
      "--event-type",
      "object-delete",
      "--queue",
      "events",
      "--prefix",
      "in/",
    );
    assert.match((await bucket("notification", "list", "films")).text, /queue_name:\s+events[^]*prefix:\s+in\//);
    await client.send(new s3.PutObjectCommand({ Bucket: "films", Key: "in/a", Body: "text" }));
    await client.send(new s3.CopyObjectCommand({ Bucket: "films", Key: "in/b", CopySource: "films/in/a" }));
    await client.send(new s3.DeleteObjectCommand({ Bucket: "films", Key: "in/a" }));
    const expectedKeys = ["events/CopyObject/in_b", "events/DeleteObject/in_a", "events/PutObject/in_a"];
    const deadline = Date.now() + 60_000;
    let keys: string[] = [];
    while (keys.length < expectedKeys.length) {
      assert.ok(Date.now() < deadline, `only ${keys.join(", ")}`);
      const { Contents = [] } = await client.send(new s3.ListObjectsV2Command({ Bucket: "films", Prefix: "events/" }));
      keys = Contents.map(({ Key }: { Key: string }) => Key);
    }
    assert.deepEqual(keys, expectedKeys);
    const eventObject = await client.send(new s3.GetObjectCommand({ Bucket: "films", Key: expectedKeys[2] }));
    const event = JSON.parse(await eventObject.Body.transformToString()) as Record<string, unknown>;
    assert.deepEqual(
      [event.account, event.bucket, event.object],
      [platform.account, "films", { key: "in/a", size: 4, eTag: "1cb251ec0d568de6a929b520c4aed8d1" }],
    );
    await bucket("notification", "delete", "films", "--queue", "events");
    assert.doesNotMatch((await bucket("notification", "list", "films")).text, /queue_name:\s+events/);
  });
});
