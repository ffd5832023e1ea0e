import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import { createScope, startPlatform, type Platform } from "./platform.ts";
import { readSequence, replay, type ReplayTarget } from "./terraform/replay.ts";

/** A PNG image of 2 by 2 gray pixels. */
const IMAGE = pngOf();

function pngOf(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
  const rows = deflateSync(Buffer.from([0, 128, 128, 0, 128, 128]));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * Replays the request sequences of the Terraform provider, with the bodies that it derives from a configuration, and
 * expects an empty plan after each refresh.
 */
describe("the Terraform provider", () => {
  const scope = createScope();
  let platform: Platform;
  let target: ReplayTarget;

  before(async () => {
    platform = await startPlatform(scope, {
      REELPOST_STREAM_ALLOW_PRIVATE: "true",
      REELPOST_API_HOSTS: "127.0.0.1",
      REELPOST_OUTBOUND_DELIVER: "files",
    });
    const images = createServer((_request, response) =>
      response.writeHead(200, { "content-type": "image/png" }).end(IMAGE),
    );
    await new Promise<void>((resolve) => void images.listen(0, "127.0.0.1", resolve));
    scope.after(() => new Promise((resolve) => void images.close(() => resolve())));

    const { account, api, token } = platform;
    const post = <Result>(path: string, body: object) =>
      platform.ask<Result>(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
    const zone = await post<{ id: string }>("/zones", { name: "example.com", account: { id: account } });
    const namespace = await post<{ id: string }>(`/accounts/${account}/storage/kv/namespaces`, { title: "notes" });
    const database = await post<{ uuid: string }>(`/accounts/${account}/d1/database`, { name: "letters" });
    await post(`/accounts/${account}/r2/buckets`, { name: "files" });
    await post(`/accounts/${account}/queues`, { queue_name: "jobs" });
    const form = new FormData();
    form.set("metadata", JSON.stringify({ main_module: "index.js", compatibility_date: "2026-10-01" }));
    form.set(
      "index.js",
      new Blob(
        ["export default { async fetch() { return new Response('ok') }, async email() {}, async scheduled() {} }"],
        {
          type: "application/javascript+module",
        },
      ),
      "index.js",
    );
    await platform.ask(`/accounts/${account}/workers/scripts/mailer`, { method: "PUT", body: form });
    target = {
      api,
      token,
      variables: {
        account_id: account,
        zone_id: zone.id,
        zone_name: "example.com",
        script: "mailer",
        namespace_id: namespace.id,
        key_name: "a/key with spaces",
        database_id: database.uuid,
        bucket: "files",
        queue: "jobs",
        image_url: `http://127.0.0.1:${(images.address() as AddressInfo).port}/logo.png`,
      },
    };
  });
  after(scope.close);

  const sequences = readdirSync(join(import.meta.dirname, "terraform"))
    .filter((file) => file.endsWith(".json"))
    .map((file) => file.slice(0, -5));
  for (const name of sequences)
    it(`has an empty plan after each apply of ${name}`, async () => {
      await replay(target, readSequence(name));
    });

  it("has a test sequence for every documented resource", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "terraform.md"), "utf8");
    const [, table] = /## Resources\n(.*?)\n## /s.exec(page)!;
    assert.deepEqual(
      [...new Set(table!.match(/cloudflare_\w+/g))].sort(),
      [...new Set(sequences.map((name) => readSequence(name).resource))].sort(),
    );
  });
});
