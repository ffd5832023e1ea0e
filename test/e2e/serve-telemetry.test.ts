import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startOtlpReceiver, valuesOf, type OtlpReceiver } from "../support/otlp-receiver.ts";
import { startNextHop } from "../support/next-hop.ts";
import { sendHttpRequest, createApi, sendMail, servePlatform, TOKEN, type Scope } from "./serve-client.ts";

const WORKER = `
export default {
  async fetch(request) {
    if (new URL(request.url).pathname === "/throw") throw new TypeError("on purpose");
    return Response.json({ traceparent: request.headers.get("traceparent"), tracestate: request.headers.get("tracestate") });
  },
  async email() {},
};
`;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const host = "traced.main.localhost";
const LIMIT_MS = 100_000;

const settings = (endpoint: string) => ({
  REELPOST_TELEMETRY_ENABLED: "true",
  REELPOST_AUTHENTICATION_ENABLED: "false",
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: "x-key=se%20cret",
  OTEL_SERVICE_NAME: "mail-eu",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
});

async function serveTraced(t: Scope, env: Record<string, string>) {
  const server = await servePlatform(t, { env });
  const api = createApi(server, TOKEN);
  await api.deploy("traced", WORKER);
  return { server, api };
}

const named = ({ spans }: OtlpReceiver, name: string) => spans.filter((span) => span.name === name);

test(
  "sends traces of requests, messages and uploads, and the metrics, to an OTLP collector",
  { timeout: 240_000 },
  async (t) => {
    const collector = await startOtlpReceiver(t);
    const hop = await startNextHop(t);
    const { server, api } = await serveTraced(t, {
      ...settings(`${collector.url}/`),
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${hop.port}`,
    });

    await t.test("a request continues the caller's trace, and the worker receives its span", async () => {
      const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1" };
      const { body } = await sendHttpRequest(server, "/page?token=hidden", { host, headers });
      const seen = JSON.parse(body) as { traceparent: string; tracestate: string };
      const [version, trace, span, flags] = seen.traceparent.split("-");
      assert.deepEqual([version, trace, flags, seen.tracestate], ["00", TRACE, "01", "vendor=1"]);
      assert.notEqual(span, PARENT);
      const malformed = await sendHttpRequest(server, "/", { host, headers: { traceparent: "00-zz-1-01" } });
      assert.match(
        (JSON.parse(malformed.body) as typeof seen).traceparent,
        /^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/,
      );
      const unsampled = await sendHttpRequest(server, "/unsampled", {
        host,
        headers: { traceparent: `00-${TRACE.replace("4", "5")}-${PARENT}-00` },
      });
      assert.match((JSON.parse(unsampled.body) as typeof seen).traceparent, /-00$/);
    });
    assert.equal((await sendHttpRequest(server, "/throw", { host })).status, 500);
    assert.equal((await sendMail(server, `traced@main.localhost`)).code, 250);
    await api.ok("post", "email/routing/addresses", { body: { email: "ada@example.net" } });
    const { uploadURL } = await api.ok("post", "stream/direct_upload", { body: { maxDurationSeconds: 60 } });
    const form = new FormData();
    form.set("file", new Blob([Buffer.alloc(2048, "\0\0\0\x18ftypmp42")]), "clip.mp4");
    const uploaded = await fetch(uploadURL, { method: "POST", body: form });
    assert.equal(uploaded.status, 200);
    const { result } = (await uploaded.json()) as { result: { uid: string } };
    // The file is not a video.
    for (let state = "queued"; state !== "error"; await sleep(50))
      state = (await api.ok("get", `stream/${result.uid}`)).status.state;
    await server.close();

    assert.deepEqual(
      [collector.resource["service.name"], collector.resource["deployment.environment.name"]],
      ["mail-eu", "test"],
    );
    assert.deepEqual(
      new Set(collector.requests.map(({ path, headers }) => `${path} ${String(headers["x-key"])}`)),
      new Set(["/v1/traces se cret", "/v1/metrics se cret"]),
    );

    const [request] = named(collector, "worker fetch").filter(({ attributes }) => attributes["url.path"] === "/page");
    assert.deepEqual([request!.traceId, request!.parentSpanId, request!.kind], [TRACE, PARENT, 2]);
    assert.deepEqual(
      ["faas.name", "http.request.method", "http.response.status_code", "reelpost.worker.outcome"].map(
        (name) => request!.attributes[name],
      ),
      ["traced", "GET", 200, "ok"],
    );
    assert.deepEqual(
      named(collector, "worker fetch").map(({ attributes }) => attributes["url.path"]),
      ["/page", "/", "/throw"],
      "a request that the caller does not sample is not recorded",
    );

    const [message] = named(collector, "mail receive");
    const [handled] = named(collector, "worker email");
    assert.deepEqual([handled!.traceId, handled!.parentSpanId], [message!.traceId, message!.spanId]);
    assert.equal(message!.attributes["reelpost.message.accepted"], 1);

    const [created] = named(collector, "api email-routing-destination-addresses-create-a-destination-address");
    const delivered = named(collector, "mail deliver");
    assert.equal(created?.attributes["http.response.status_code"], 200);
    assert.ok(
      delivered.some(({ traceId }) => traceId === created!.traceId),
      "the verification message is delivered in the trace of the request that caused it",
    );

    const [upload] = named(collector, "video upload");
    const [processed] = named(collector, "job stream.process");
    assert.equal(upload!.attributes["http.response.status_code"], 200);
    assert.equal(processed!.traceId, upload!.traceId);
    assert.doesNotMatch(
      JSON.stringify(collector.spans),
      new RegExp(`ada@|hidden|${uploadURL.split("/").at(-1)}|${TOKEN}`),
      "addresses, query strings and secrets are not recorded",
    );

    const invocations = collector.metrics.get("reelpost_worker_invocations_total")!.sum!;
    assert.deepEqual([invocations.isMonotonic, invocations.aggregationTemporality], [true, 2]);
    const point = invocations.dataPoints.find(({ attributes }) => valuesOf(attributes)["event"] === "email");
    assert.equal(point?.asDouble, 1);
    const seconds = collector.metrics.get("reelpost_worker_invocation_seconds")!;
    assert.equal(seconds.unit, "s");
    for (const { bucketCounts, explicitBounds, count } of seconds.histogram!.dataPoints) {
      assert.equal(bucketCounts!.length, explicitBounds!.length + 1);
      assert.equal(
        bucketCounts!.reduce<number>((sum, each) => sum + Number(each), 0),
        Number(count),
      );
    }
  },
);

test("sends nothing unless telemetry is enabled, and leaves trace headers unchanged", async (t) => {
  const collector = await startOtlpReceiver(t);
  const { REELPOST_TELEMETRY_ENABLED: _, ...env } = settings(collector.url);
  const { server } = await serveTraced(t, env);
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  const { body } = await sendHttpRequest(server, "/", { host, headers: { traceparent } });
  assert.equal((JSON.parse(body) as { traceparent: string }).traceparent, traceparent);
  assert.equal(
    (JSON.parse((await sendHttpRequest(server, "/", { host })).body) as { traceparent: null }).traceparent,
    null,
  );
  await server.close();
  assert.deepEqual(collector.requests, []);
});

test("a collector that never responds does not delay mail or the shutdown of the server", async (t) => {
  const collector = await startOtlpReceiver(t, { hang: true });
  // A server that waits for an export exceeds the limits below, even on a fast machine.
  const { server } = await serveTraced(t, {
    ...settings(collector.url),
    OTEL_EXPORTER_OTLP_TIMEOUT: String(2 * LIMIT_MS),
  });
  const startedAt = performance.now();
  for (let i = 0; i < 20; i++) assert.equal((await sendMail(server, `traced@main.localhost`)).code, 250);
  assert.ok(performance.now() - startedAt < LIMIT_MS, "20 messages took longer than 100 s");
  const stoppedAt = performance.now();
  await server.close();
  assert.ok(performance.now() - stoppedAt < LIMIT_MS, `the server stopped after ${performance.now() - stoppedAt} ms`);
});
