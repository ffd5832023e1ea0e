import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { createMetrics } from "../../../kernel/metrics.ts";
import { isStoreError } from "../../errors.ts";
import { parseObjectsUrl } from "./address.ts";
import { createS3Client } from "./client.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { createS3Requests } from "./requests.ts";

/** Starts a server that responds with these statuses in turn; 0 closes the connection. */
async function startAnswering(t: TestContext, statuses: number[]): Promise<string> {
  const server = createServer((request, response) => {
    const status = statuses.shift() ?? 200;
    request.resume();
    if (status === 0) return void request.socket.destroy();
    const code = status === 403 ? "AccessDenied" : "ServiceUnavailable";
    response.writeHead(status, { "content-type": "application/xml" });
    response.end(status < 300 ? "" : `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("requests to the S3 server are counted by operation and status, and failures by error", async (t) => {
  const endpoint = await startAnswering(t, [503, 0, 200, 403]);
  const location = parseObjectsUrl(`s3://media?endpoint=${encodeURIComponent(endpoint)}`);
  const connection = await createS3Client(location, { credentials: { accessKeyId: "a", secretAccessKey: "b" } });
  t.after(() => connection.client.destroy());
  const metrics = createMetrics({ processMetrics: false });
  const { sdk, at, send } = createS3Requests(location, connection, createRequestMetrics(metrics));
  const put = () =>
    send("key", (client, options) => client.send(new sdk.PutObjectCommand({ ...at("key"), Body: "x" }), options));
  await put();
  await assert.rejects(put(), (err) => isStoreError(err, "objectsDenied"));
  const { body } = await metrics.render();
  const lines = body.split("\n").filter((line) => /_(total|count)\{/.test(line));
  assert.deepEqual(lines.sort(), [
    'reelpost_object_store_failures_total{error="objectsDenied"} 1',
    'reelpost_object_store_request_seconds_count{operation="PutObject"} 4',
    'reelpost_object_store_requests_total{operation="PutObject",status="2xx"} 1',
    'reelpost_object_store_requests_total{operation="PutObject",status="4xx"} 1',
    'reelpost_object_store_requests_total{operation="PutObject",status="5xx"} 1',
    'reelpost_object_store_requests_total{operation="PutObject",status="none"} 1',
  ]);
});
