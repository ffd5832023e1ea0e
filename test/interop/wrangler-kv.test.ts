import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    const { value, metadata } = await env.CACHE.getWithMetadata(decodeURIComponent(new URL(request.url).pathname.slice(1)));
    return Response.json({ value, metadata });
  },
};
`;
const BINARY = Uint8Array.of(0, 1, 254, 255, 13, 10);

interface Key {
  name: string;
  expiration?: number;
  metadata?: unknown;
}

describe("wrangler kv", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let id: string;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler();
  });
  after(scope.close);

  const kv = (...args: string[]) => wrangler.run(["kv", ...args]);
  /** Specifies the namespace by the binding in the project's configuration, as users with a worker do. */
  const keyed = (command: string, ...args: string[]) => kv("key", command, ...args, "--binding", "CACHE", "--remote");
  const list = async (...args: string[]) => JSON.parse((await keyed("list", ...args)).stdout) as Key[];

  it("namespace create prints the id for the configuration, and list prints the same id and ends", async () => {
    const { text } = await kv("namespace", "create", "cache");
    id = /"id": "([0-9a-f]{32})"/.exec(text)![1]!;
    assert.deepEqual(JSON.parse((await kv("namespace", "list")).stdout), [
      { id, title: "cache", supports_url_encoding: true },
    ]);
    await wrangler.write(
      "wrangler.jsonc",
      JSON.stringify({
        name: "reader",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        kv_namespaces: [{ binding: "CACHE", id }],
      }),
    );
    await wrangler.write("worker.js", WORKER);
  });

  it("duplicate titles are rejected", async () => {
    const { code, text } = await wrangler.attempt(["kv", "namespace", "create", "cache"]);
    assert.notEqual(code, 0);
    assert.match(text, /already exists/);
  });

  it("put and get preserve text with metadata, a key with slashes and spaces, the bytes of a file, and a TTL", async () => {
    await keyed("put", "a/b c?é", "value 1", "--metadata", '{"tag":[1]}');
    assert.equal((await keyed("get", "a/b c?é")).stdout, "value 1");
    await wrangler.write("binary", BINARY);
    await keyed("put", "binary", "--path", "binary", "--ttl", "3600");
    const [, binary] = await list();
    assert.ok(Math.abs(binary!.expiration! - Date.now() / 1000 - 3600) < 60);
    const stored = await fetch(
      `${platform.api}/accounts/${platform.account}/storage/kv/namespaces/${id}/values/binary`,
      { headers: { authorization: `Bearer ${platform.token}` } },
    );
    assert.deepEqual(new Uint8Array(await stored.arrayBuffer()), BINARY);
  });

  it("bulk put, get and delete work, and list filters by prefix", async () => {
    await wrangler.write(
      "bulk.json",
      JSON.stringify([
        { key: "n/1", value: "one", metadata: { m: 1 } },
        { key: "n/2", value: Buffer.from("two").toString("base64"), base64: true },
        { key: "n/3", value: "three", expiration_ttl: 3600 },
      ]),
    );
    assert.match((await kv("bulk", "put", "bulk.json", "--binding", "CACHE", "--remote")).text, /Success!/);
    assert.deepEqual(
      (await list("--prefix", "n/")).map(({ name, metadata }) => [name, metadata]),
      [
        ["n/1", { m: 1 }],
        ["n/2", undefined],
        ["n/3", undefined],
      ],
    );
    await wrangler.write("keys.json", JSON.stringify(["n/1", "n/2", "none"]));
    assert.deepEqual(
      JSON.parse(/\{[^]*\}/.exec((await kv("bulk", "get", "keys.json", "--binding", "CACHE", "--remote")).stdout)![0]),
      { "n/1": "one", "n/2": "two" },
    );
    await wrangler.write("gone.json", JSON.stringify(["n/1", "n/3"]));
    await kv("bulk", "delete", "gone.json", "--binding", "CACHE", "--remote", "--force");
    assert.deepEqual(
      (await list("--prefix", "n/")).map(({ name }) => name),
      ["n/2"],
    );
  });

  it("list follows the cursor until it has all keys", async () => {
    const many = Array.from({ length: 2_345 }, (_, index) => ({
      key: `many/${String(index).padStart(5, "0")}`,
      value: "",
    }));
    await wrangler.write("many.json", JSON.stringify(many));
    await kv("bulk", "put", "many.json", "--binding", "CACHE", "--remote");
    assert.deepEqual(
      (await list("--prefix", "many/")).map(({ name }) => name),
      many.map(({ key }) => key),
    );
  });

  it("a worker reads the stored values", async () => {
    await wrangler.run(["deploy"]);
    assert.deepEqual(JSON.parse((await platform.visit("reader", `/${encodeURIComponent("a/b c?é")}`)).text), {
      value: "value 1",
      metadata: { tag: [1] },
    });
    assert.deepEqual(JSON.parse((await platform.visit("reader", "/none")).text), { value: null, metadata: null });
  });

  it("delete removes a key, and a missing key causes an error", async () => {
    await keyed("delete", "binary");
    const { code, text } = await wrangler.attempt(["kv", "key", "get", "binary", "--binding", "CACHE", "--remote"]);
    assert.notEqual(code, 0);
    assert.match(text, /404/);
  });

  it("an invalid value or TTL is reported", async () => {
    for (const [args, expected] of [
      [["put", "k", "v", "--ttl", "10"], /60/],
      [["put", "k".repeat(513), "v"], /512/],
    ] as const) {
      const { code, text } = await wrangler.attempt(["kv", "key", ...args, "--binding", "CACHE", "--remote"]);
      assert.notEqual(code, 0);
      assert.match(text, expected);
    }
  });

  it("a namespace is renamed and deleted, and then not found", async () => {
    await kv("namespace", "rename", "--namespace-id", id, "--new-name", "cache-2");
    assert.deepEqual(
      (await platform.ask<{ title: string }[]>(`/accounts/${platform.account}/storage/kv/namespaces`)).map(
        ({ title }) => title,
      ),
      ["cache-2"],
    );
    await kv("namespace", "delete", "--namespace-id", id, "-y");
    const { code, text } = await wrangler.attempt(["kv", "key", "put", "k", "v", "--namespace-id", id, "--remote"]);
    assert.notEqual(code, 0);
    assert.match(text, /namespace not found' \[code: 10013\]/);
  });

  it("the server's log contains no token", () => {
    assert.ok(platform.server.log().length > 0 && !platform.server.log().includes(platform.token));
  });
});
