import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const CONFIG = {
  name: "versioned",
  main: "index.js",
  compatibility_date: "2026-10-01",
  version_metadata: { binding: "VERSION" },
};

describe("wrangler: version metadata", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify(CONFIG),
      "index.js": "export default { fetch: (request, env) => Response.json(env.VERSION) };",
    });
  });
  after(scope.close);

  const read = async () =>
    JSON.parse((await platform.visit("versioned")).text) as { id: string; tag: string; timestamp: string };
  const deploy = async (...more: string[]) =>
    /Current Version ID: ([0-9a-f-]{36})/.exec((await wrangler.run(["deploy", ...more])).text)![1]!;

  it("each deployed version reads its own id, tag and upload time", async () => {
    const first = await deploy();
    const one = await read();
    assert.deepEqual([one.id, one.tag], [first, ""]);
    const second = await deploy("--tag", "v2");
    const two = await read();
    assert.deepEqual([two.id, two.tag], [second, "v2"]);
    assert.ok(Date.parse(one.timestamp) < Date.parse(two.timestamp), `${one.timestamp} ${two.timestamp}`);
    const version = await platform.ask<{ metadata: { created_on: string }; resources: { bindings: unknown } }>(
      `/accounts/${platform.account}/workers/scripts/versioned/versions/${second}`,
    );
    assert.equal(two.timestamp, version.metadata.created_on);
    assert.deepEqual(version.resources.bindings, [{ name: "VERSION", type: "version_metadata" }]);
  });
});
