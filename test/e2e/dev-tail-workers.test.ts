import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { DevEvent, TailEvent } from "../../src/dev/index.ts";
import { createScope, makeProject, serve, type TestServer } from "./dev-bench.ts";

const PRODUCER = `export default { fetch(request) { console.log("seen", new URL(request.url).pathname); return new Response("ok"); } };`;
const CONSUMER = `export default { tail(events) { for (const { scriptName, logs } of events) console.log(scriptName, ...logs[0].message); } };`;

describe("tail workers in development", () => {
  const scope = createScope();
  let server: TestServer;
  before(async () => {
    const tail_consumers = [{ service: "tailing" }, { service: "absent" }];
    const folder = await makeProject(scope, { "src/index.ts": PRODUCER }, { name: "producing", tail_consumers });
    const consumer = await makeProject(scope, { "src/index.ts": CONSUMER }, { name: "tailing" });
    server = await serve(scope, folder, { configs: ["wrangler.jsonc", join(consumer, "wrangler.jsonc")] });
  });
  after(scope.close);

  it("receive the invocations of the other worker", async () => {
    assert.equal(await (await fetch(`${server.url}/path`)).text(), "ok");
    const { worker, consumed, outcome, logs } = await server.event(
      (event): event is TailEvent => event.event === "tail",
    );
    assert.deepEqual(
      [worker, consumed, outcome, logs.map(({ message }) => message)],
      ["tailing", ["producing"], "ok", [["producing", "seen", "/path"]]],
    );
  });

  it("are reported once if they are not running", async () => {
    const report = await server.event(
      (event): event is Extract<DevEvent, { text: string }> =>
        event.event === "warning" && event.text.includes("the tail worker absent of producing is not running"),
    );
    assert.match(report.text, /add --config/);
  });
});
