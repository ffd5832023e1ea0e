import assert from "node:assert/strict";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type * as Tus from "tus-js-client";
import { clip, needsFfmpeg } from "../support/media.ts";
import { failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const tus = createRequire(join(import.meta.dirname, "..", "clients", "package.json"))("tus-js-client") as typeof Tus;

describe("uploads of videos by common clients", needsFfmpeg, () => {
  const scope = createScope();
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  let path: string;
  before(async () => {
    path = await clip({ seconds: 2 });
    platform = await startPlatform(scope, { REELPOST_STREAM_ALLOW_PRIVATE: "true" });
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  /** Waits until playback can start; a failed video never reaches that state. */
  async function playable(uid: string) {
    for (;;) {
      const video = await client.stream.get(uid, { account_id });
      assert.notEqual(video.status.state, "error", JSON.stringify(video.status));
      if (video.readyToStream) return video;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const byTus = (options: Tus.UploadOptions): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      let uid: string | undefined;
      new tus.Upload(createReadStream(path), {
        chunkSize: 5 * 1024 * 1024,
        uploadSize: statSync(path).size,
        ...options,
        onError: reject,
        onSuccess: () => resolve(uid),
        onAfterResponse: (_, response) => void (uid = response.getHeader("stream-media-id") ?? uid),
      }).start();
    });

  it("tus-js-client uploads with a token", { timeout: 110_000 }, async () => {
    const uid = await byTus({
      endpoint: `${platform.api}/accounts/${account_id}/stream`,
      headers: { Authorization: `Bearer ${platform.token}` },
      metadata: { name: "by TUS" },
    });
    const video = await playable(uid!);
    assert.deepEqual(
      [video.meta, video.input, Math.round(video.duration), video.size],
      [{ name: "by TUS" }, { width: 320, height: 180 }, 2, statSync(path).size],
    );
  });

  it("the SDK starts an upload that another client resumes", { timeout: 110_000 }, async () => {
    const response = await client.stream
      .create({
        account_id,
        "Tus-Resumable": "1.0.0",
        "Upload-Length": statSync(path).size,
        direct_user: true,
        "Upload-Creator": "me",
        "Upload-Metadata": `name ${Buffer.from("by the SDK").toString("base64")}, maxDurationSeconds ${Buffer.from("60").toString("base64")}`,
      })
      .asResponse();
    assert.equal(response.status, 201);
    const uid = response.headers.get("stream-media-id");
    await byTus({ uploadUrl: response.headers.get("location"), endpoint: "http://127.0.0.1:1/" });
    const video = await playable(uid);
    assert.deepEqual([video.meta, video.creator, video.maxDurationSeconds], [{ name: "by the SDK" }, "me", 60]);
  });

  it("a one-time URL accepts one form, and also TUS", { timeout: 110_000 }, async () => {
    const { uploadURL, uid } = await client.stream.directUpload.create({ account_id, maxDurationSeconds: 30 });
    const form = () => {
      const data = new FormData();
      data.set("file", new Blob([readFileSync(path)]), "holiday.mp4");
      return data;
    };
    assert.equal((await fetch(uploadURL, { method: "POST", body: form() })).status, 200);
    assert.equal((await fetch(uploadURL, { method: "POST", body: form() })).status, 409);
    assert.deepEqual((await playable(uid)).meta, { name: "holiday.mp4" });
    const second = await client.stream.directUpload.create({ account_id, maxDurationSeconds: 30 });
    assert.equal(await byTus({ endpoint: second.uploadURL }), second.uid);
    await playable(second.uid);
    assert.equal((await fetch(second.uploadURL, { headers: { accept: "text/html" } })).status, 200);
    await assert.rejects(
      client.stream.directUpload.create({ account_id, maxDurationSeconds: 0 }),
      failsWith(400, 10005),
    );
  });

  it("a video is copied from a URL, and a URL without a server is reported", { timeout: 110_000 }, async () => {
    const bytes = readFileSync(path);
    const origin = createServer(
      (request, response) =>
        void response
          .writeHead(200, { "content-length": bytes.length })
          .end(request.method === "HEAD" ? undefined : bytes),
    );
    await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
    scope.after(async () => void origin.close());
    const made = await client.stream.copy.create({
      account_id,
      input: `http://127.0.0.1:${(origin.address() as AddressInfo).port}/a.mp4`,
      meta: { name: "copied" },
    });
    assert.deepEqual([made.status.state, made.size], ["downloading", bytes.length]);
    assert.equal((await playable(made.uid)).meta.name, "copied");
    await assert.rejects(
      client.stream.copy.create({ account_id, input: "http://127.0.0.1:1/a.mp4" }),
      failsWith(400, 10010),
    );
  });

  it("a form is uploaded with a token, and a file that is not a video is rejected", async () => {
    const send = (bytes: Buffer) => {
      const data = new FormData();
      data.set("file", new Blob([new Uint8Array(bytes)]), "a.mp4");
      return fetch(`${platform.api}/accounts/${account_id}/stream`, {
        method: "POST",
        headers: { authorization: `bearer ${platform.token}` },
        body: data,
      });
    };
    assert.equal((await send(readFileSync(path))).status, 200);
    const refused = await send(Buffer.from("not a video at all"));
    assert.deepEqual(
      [refused.status, ((await refused.json()) as { errors: { code: number }[] }).errors[0]!.code],
      [400, 10059],
    );
  });
});
