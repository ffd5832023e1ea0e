import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { scriptOf, startRuntime } from "./runtime.testing.ts";

const WORKER = `export default { fetch: (request, env) => Response.json(env.VERSION) };`;

test("version_metadata contains the id, the tag and the upload time of the version", async (t) => {
  const runtime = startRuntime();
  t.after(() => runtime.close());
  const server = createServer((request, response) => void runtime.fetch("test", request, response));
  t.after(() => void server.close());
  t.after(() => server.closeAllConnections());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const read = async () =>
    (await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).json()) as Record<
      string,
      string
    >;
  const script = scriptOf(WORKER, { version: "v1", bindings: [{ type: "version_metadata", name: "VERSION" }] });

  await runtime.deploy({ ...script, uploaded: { at: new Date(1_700_000_000_000), tag: `tag "1"` } });
  assert.deepEqual(await read(), { id: "v1", tag: `tag "1"`, timestamp: "2023-11-14T22:13:20.000Z" });

  const before = Date.now();
  await runtime.deploy({ ...script, version: "v2" });
  const { timestamp, ...rest } = await read();
  assert.deepEqual(rest, { id: "v2", tag: "" });
  assert.ok(Date.parse(timestamp ?? "") >= before && Date.parse(timestamp ?? "") <= Date.now(), String(timestamp));
});
