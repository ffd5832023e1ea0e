import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const BIG_BYTES = 50 * 1024 * 1024;
const WORKER = `
export default {
  async fetch(request, env) {
    const object = await env.FILES.get(decodeURIComponent(new URL(request.url).pathname.slice(1)), { range: { offset: 1, length: 3 } });
    return object === null ? new Response("none", { status: 404 }) : Response.json({ text: await object.text(), size: object.size, type: object.httpMetadata.contentType, cache: object.httpMetadata.cacheControl });
  },
};
`;

describe("wrangler r2", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "reader",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        r2_buckets: [{ binding: "FILES", bucket_name: "films" }],
      }),
      "worker.js": WORKER,
      "note.txt": "hello",
    });
  });
  after(scope.close);

  const object = (command: string, path: string, ...args: string[]) =>
    wrangler.run(["r2", "object", command, path, ...args, "--remote"]);
  const refused = async (args: string[]) => {
    const { code, text } = await wrangler.attempt(args);
    assert.notEqual(code, 0, text);
    return text;
  };

  it("bucket create, list and info show the bucket", async () => {
    assert.match((await wrangler.run(["r2", "bucket", "create", "films"])).text, /Created bucket 'films'/);
    assert.match(
      (await wrangler.run(["r2", "bucket", "list"])).text,
      /name:\s+films\ncreation_date:\s+\d{4}-\d\d-\d\dT/,
    );
    assert.match((await wrangler.run(["r2", "bucket", "info", "films"])).text, /name:\s+films\n[^]*object_count:\s+0/);
  });

  it("an object under a path, with its headers, is stored and read", async () => {
    await object(
      "put",
      "films/a/b c+é.txt",
      "--file",
      "note.txt",
      "--content-type",
      "text/x-note",
      "--cache-control",
      "max-age=3",
    );
    assert.equal((await object("get", "films/a/b c+é.txt", "--pipe")).stdout, "hello");
  });

  it("a file of 50 MiB is returned unchanged", async () => {
    const big = randomFillSync(new Uint8Array(BIG_BYTES));
    await wrangler.write("big.bin", big);
    await object("put", "films/big.bin", "--file", "big.bin");
    await object("get", "films/big.bin", "--file", "back.bin");
    assert.ok(Buffer.from(big.buffer).equals(await readFile(join(wrangler.folder, "back.bin"))));
  });

  it("a worker reads a range and the headers of an object", async () => {
    await wrangler.run(["deploy"]);
    assert.deepEqual(JSON.parse((await platform.visit("reader", `/${encodeURIComponent("a/b c+é.txt")}`)).text), {
      text: "ell",
      size: 5,
      type: "text/x-note",
      cache: "max-age=3",
    });
  });

  it("a bucket with objects cannot be deleted", async () => {
    assert.match(await refused(["r2", "bucket", "delete", "films"]), /not empty[^]*\[code: 10008\]/);
  });

  it("objects and the bucket are deleted, and then not found", async () => {
    await object("delete", "films/big.bin");
    await object("delete", "films/a/b c+é.txt");
    assert.match(
      await refused(["r2", "object", "get", "films/big.bin", "--pipe", "--remote"]),
      /The specified key does not exist/,
    );
    await wrangler.run(["r2", "bucket", "delete", "films"]);
    assert.match(
      await refused(["r2", "bucket", "info", "films"]),
      /The specified bucket does not exist[^]*\[code: 10006\]/,
    );
    assert.match(
      await refused(["r2", "object", "put", "films/a", "--file", "note.txt", "--remote"]),
      /bucket does not exist/,
    );
  });
});
