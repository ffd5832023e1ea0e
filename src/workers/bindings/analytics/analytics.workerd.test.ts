import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import { noServices, scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import { createAnalyticsService } from "./service.ts";

const WORKER = `
const points = {
  full: () => ({ indexes: ["é"], blobs: ["a", null, new TextEncoder().encode("view"), new TextEncoder().encode("buffer").buffer, undefined], doubles: [1.5, -2, NaN, true] }),
  absent: () => undefined,
  empty: () => ({}),
  largest: () => ({ indexes: ["é".repeat(48)], blobs: Array(20).fill("").with(0, "x".repeat(16384)), doubles: Array(20).fill(1) }),
  "index too long": () => ({ indexes: ["é".repeat(48) + "x"] }),
  "two indexes": () => ({ indexes: ["a", "b"] }),
  "21 blobs": () => ({ blobs: Array(21).fill("") }),
  "21 doubles": () => ({ doubles: Array(21).fill(0) }),
  "blobs too long": () => ({ blobs: ["x".repeat(16384), "y"] }),
  "a number as blob": () => ({ blobs: [1] }),
  "no list": () => ({ blobs: "x" }),
  "no object": () => "x",
};
export default {
  async fetch(request, env) {
    const name = await request.text();
    if (name === "many") {
      for (let i = 0; i < 25; i++) env.EVENTS.writeDataPoint({ doubles: [i] });
      return new Response("many");
    }
    try {
      return new Response(String(env.EVENTS.writeDataPoint(points[name]())));
    } catch (err) {
      return new Response(err.name + ": " + err.message);
    }
  }
}`;

test("writeDataPoint() in a worker", async (t) => {
  const written: unknown[] = [];
  let onWritten = () => {};
  const service = createAnalyticsService({
    analytics: {
      async write(account, dataset, point) {
        written.push([account, dataset, point]);
        onWritten();
      },
    },
    log: silentLog,
  });
  const runtime = startRuntime({ services: { ...noServices, analytics: service } });
  t.after(() => runtime.close());
  await runtime.deploy(
    scriptOf(WORKER, { account: "a", bindings: [{ type: "analytics_engine", name: "EVENTS", dataset: "events" }] }),
  );
  const server = createServer((request, response) => void runtime.fetch("test", request, response));
  t.after(() => void server.close());
  t.after(() => server.closeAllConnections());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const run = async (name: string) => (await fetch(url, { method: "POST", body: name })).text();
  /** Returns the points that a call writes. Writing continues after the response. */
  async function points(name: string, count = 1): Promise<unknown[]> {
    written.length = 0;
    const { promise: all, resolve } = Promise.withResolvers<void>();
    onWritten = () => void (written.length === count && resolve());
    assert.equal(await run(name), count === 1 ? "undefined" : name);
    await all;
    return [...written];
  }

  const of = (point: object) => [["a", "events", point]];
  assert.deepEqual(
    await points("full"),
    of({ index: "é", blobs: ["a", "", "view", "buffer", ""], doubles: [1.5, -2, 0, 1] }),
  );
  for (const name of ["absent", "empty"])
    assert.deepEqual(await points(name), of({ index: "", blobs: [], doubles: [] }), name);
  assert.equal((await points("largest")).length, 1);
  assert.equal((await points("many", 25)).length, 25);

  written.length = 0;
  for (const [name, message] of [
    ["index too long", "Size of indexes[0] exceeds 96 bytes."],
    ["two indexes", "Maximum of 1 indexes supported."],
    ["21 blobs", "Maximum of 20 blobs supported."],
    ["21 doubles", "Maximum of 20 doubles supported."],
    ["blobs too long", "Cumulative size of blobs exceeds 16384 bytes)."],
    ["a number as blob", "blobs must contain strings, ArrayBuffers or null."],
    ["no list", "blobs is not an array."],
    ["no object", "the data point is not an object"],
  ] as const)
    assert.equal(await run(name), `TypeError: writeDataPoint(): ${message}`);
  assert.deepEqual(written, []);
});
