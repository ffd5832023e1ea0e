import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../settings.ts";
import { readTelemetryConfig } from "./environment.ts";

const read = (telemetry: object, env: Record<string, string> = {}) =>
  readTelemetryConfig(settingsSchema.parse({ telemetry }), env);

test("is disabled by default, and OTEL_SDK_DISABLED disables it", () => {
  assert.equal(read({}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }), undefined);
  assert.equal(read({ enabled: true }, { OTEL_SDK_DISABLED: "TRUE" }), undefined);
  assert.equal(read({ enabled: true, traces: false, metrics: false }), undefined);
});

test("uses the default endpoint and service name", () => {
  const config = read({ enabled: true })!;
  assert.deepEqual(
    [config.traces, config.metrics, config.resource],
    ["http://localhost:4318/v1/traces", "http://localhost:4318/v1/metrics", { "service.name": "reelpost" }],
  );
});

test("a setting overrides the variables", () => {
  const config = read(
    { enabled: true, endpoint: "http://here:1/", service_name: "mine" },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://there:2",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://there:3/spans",
      OTEL_SERVICE_NAME: "other",
    },
  )!;
  assert.deepEqual([config.traces, config.resource["service.name"]], ["http://here:1/v1/traces", "mine"]);
});

test("the endpoint variable of one signal is a complete URL and overrides the common variable", () => {
  const config = read(
    { enabled: true },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector/otlp/",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://spans/in",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc, x-a=1",
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-a=2,broken=%zz,=none",
    },
  )!;
  assert.deepEqual([config.traces, config.metrics], ["http://spans/in", "https://collector/otlp/v1/metrics"]);
  assert.deepEqual(config.headers, {
    traces: { authorization: "Basic abc", "x-a": "1" },
    metrics: { authorization: "Basic abc", "x-a": "2" },
  });
});

test("the timeout variable of one signal overrides the common variable, and invalid timeouts are ignored", () => {
  const timeouts = (env: Record<string, string>) => Object.values(read({ enabled: true }, env)!.timeoutMs);
  assert.deepEqual(timeouts({}), [10_000, 10_000]);
  assert.deepEqual(
    timeouts({ OTEL_EXPORTER_OTLP_TIMEOUT: "5000", OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: "700" }),
    [5000, 700],
  );
  for (const invalid of ["0", "-1", "1s", "1e3", "99999999999"])
    assert.deepEqual(timeouts({ OTEL_EXPORTER_OTLP_TIMEOUT: invalid }), [10_000, 10_000], invalid);
});

test("OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER disable a signal with `none`", () => {
  assert.equal(read({ enabled: true }, { OTEL_METRICS_EXPORTER: "none" })!.metrics, undefined);
  assert.equal(read({ enabled: true }, { OTEL_TRACES_EXPORTER: "none" })!.traces, undefined);
});

test("OTEL_SERVICE_NAME overrides service.name in OTEL_RESOURCE_ATTRIBUTES; empty variables are ignored", () => {
  const attributes = "service.name=a,host.name=b";
  assert.deepEqual(read({ enabled: true }, { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: "" })!.resource, {
    "service.name": "a",
    "host.name": "b",
  });
  assert.equal(
    read({ enabled: true }, { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: "c" })!.resource["service.name"],
    "c",
  );
});

test("reports a protocol that is not supported", () => {
  assert.equal(read({ enabled: true }, { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })!.unsupportedProtocol, "grpc");
  assert.equal(read({ enabled: true }, { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" })!.unsupportedProtocol, undefined);
});
