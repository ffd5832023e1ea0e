import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PlatformServer } from "../../src/server/index.ts";
import { needsFfmpeg } from "../support/media.ts";
import { createScope } from "./dev-bench.ts";
import { sendHttpRequest, createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

describe("the status of a server", { concurrency: true }, () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  before(async () => {
    server = await servePlatform(scope);
    api = createApi(server, TOKEN);
  });
  after(() => scope.close());
  const get = async (path: string, options = {}) => sendHttpRequest(server, path, options);

  test("reports that it is alive and ready", async () => {
    for (const [path, words] of [
      ["/healthz", "ok\n"],
      ["/readyz", "ready\n"],
    ] as const) {
      const { status, body, headers } = await get(path);
      assert.deepEqual([status, body, headers["content-type"]], [200, words, "text/plain; charset=utf-8"]);
      assert.deepEqual(
        [
          (await get(path, { method: "HEAD" })).status,
          (await get(path, { method: "POST" })).status,
          (await get(`${path}?x=1`)).status,
        ],
        [200, 405, 200],
      );
    }
    assert.equal((await get("/healthz/")).status, 404);
  });

  test("reports the active confinement and the encoder at /readyz?verbose", needsFfmpeg, async () => {
    const { status, body } = await get("/readyz?verbose");
    assert.equal(status, 200);
    const [first, video, encoder, workers, ...rest] = body.split("\n");
    assert.deepEqual([first, rest], ["ready", [""]]);
    // The mode depends on the machine; the user is never root.
    assert.match(
      video!,
      process.getuid?.() === 0
        ? /^ffmpeg confinement: [\w ]+, user [1-9]\d*, no network/
        : /^ffmpeg confinement: [\w ]+, the server's user, /,
    );
    assert.match(encoder!, /^H\.264 encoder: (h264_\w+|libx264 \(.+\))$/);
    assert.match(workers!, /^worker process users: (one per account|.*for all accounts \(warning\))$/);
  });

  test("links to the dashboard and the API reference on its front page", async () => {
    const { status, body } = await get("/");
    assert.equal(status, 200);
    const { dashboard } = server;
    for (const url of [dashboard!, `${dashboard}/docs`, `${server.url}/client/v4/docs`])
      assert.ok(body.includes(` ${url}\n`), body);
    const page = await get("/", { headers: { accept: "text/html,application/xhtml+xml" } });
    assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
    assert.ok(page.body.includes(`href="${server.url}/client/v4/docs"`), page.body);
  });

  test("exports metrics of the API, of workers and of itself", async () => {
    await api.deploy("counted", `export default { fetch: () => new Response("x"), email() {} }`);
    await get("/workers/counted/");
    await sendMail(server, "counted@main.localhost");
    for (let i = 0; i < 3; i++) await api.call("get", "workers/scripts/none/settings");
    const { status, body, headers } = await get("/metrics");
    assert.equal(status, 200);
    assert.match(headers["content-type"]!, /^text\/plain; version=0\.0\.4/);
    for (const line of [
      /^reelpost_api_requests_total\{operation="worker-script-upload-worker-module",status="2xx"\} 1$/m,
      /^reelpost_api_requests_total\{operation="[\w-]+settings",status="4xx"\} 3$/m,
      /^reelpost_api_request_seconds_bucket\{le="\+Inf",operation="worker-script-upload-worker-module"\} 1$/m,
      /^reelpost_worker_invocations_total\{worker="counted",event="fetch",outcome="ok"\} 1$/m,
      /^reelpost_worker_invocations_total\{worker="counted",event="email",outcome="ok"\} 1$/m,
      /^process_resident_memory_bytes \d+$/m,
    ])
      assert.match(body, line);
    assert.equal(body.includes(TOKEN), false);
  });

  test("serves metrics only to this machine or with the metrics token", async (t) => {
    assert.equal(
      (await get("/metrics", { headers: { "x-forwarded-for": "203.0.113.9" } })).status,
      403,
      "a local proxy passes on requests of other clients",
    );
    for (const name of ["forwarded", "via", "x-real-ip"])
      assert.equal((await get("/metrics", { headers: { [name]: "203.0.113.9" } })).status, 403, name);
    assert.equal((await get("/metrics", { host: "rebound.example" })).status, 403, "a page that uses DNS rebinding");
    assert.equal((await get("/metrics", { host: "localhost:8787" })).status, 200);
    const guarded = await servePlatform(t, { env: { REELPOST_HTTP_METRICS_TOKEN: "scrape-me" } });
    const statuses = await Promise.all(
      [
        {},
        { authorization: "Bearer wrong-one" },
        { authorization: `Bearer ${TOKEN}` },
        { authorization: "Bearer scrape-me" },
      ].map(
        async (sent) =>
          (await sendHttpRequest(guarded, "/metrics", { headers: sent as Record<string, string> })).status,
      ),
    );
    assert.deepEqual(statuses, [403, 403, 403, 200]);
  });

  test("serves its API description publicly, as a document and as a web page", async () => {
    const document = JSON.parse((await get("/client/v4/openapi.json")).body);
    assert.match(document.openapi, /^3\.1\./);
    for (const path of [
      "/accounts",
      "/zones",
      "/accounts/{account_id}/workers/scripts/{script_name}",
      "/accounts/{account_id}/storage/kv/namespaces",
      "/accounts/{account_id}/r2/buckets",
      "/accounts/{account_id}/d1/database",
      "/user/tokens",
    ]) {
      assert.ok(document.paths[path], path);
    }
    const { status, body, headers } = await get("/client/v4/docs");
    assert.equal(status, 200);
    assert.match(headers["content-type"]!, /^text\/html/);
    assert.ok(body.includes("worker-script-upload-worker-module") || body.includes("Upload Worker Module"));
    // The page loads no external resources.
    assert.doesNotMatch(body, /(src|href)="https?:/);
    // Users paste tokens into this page.
    const policy = String(headers["content-security-policy"]).split("; ");
    for (const directive of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(directive), directive);
    assert.deepEqual([headers["x-content-type-options"], headers["referrer-policy"]], ["nosniff", "no-referrer"]);
  });
});
