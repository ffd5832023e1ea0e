import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { png } from "../../src/stream/watermarks/png.testing.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { publishedOpenApi } from "../support/published-openapi.ts";
import { all, failsWith, toFile } from "./cloudflare-sdk.ts";
import { createScope } from "./platform.ts";
import { assertRequested, OPERATIONS, VIDEO_OPERATIONS } from "./stream-operations.ts";
import { startSite, startVideoPlatform, type ShownVideo, type Site, type VideoPlatform } from "./video-platform.ts";

const UNKNOWN_ID = "0".repeat(32);
const EXPIRY_SECONDS = 600;
/** Fields that the tests change after creating a video. */
const changedSince = ({ meta, modified, publicDetails }: Pick<ShownVideo, "meta" | "modified" | "publicDetails">) => ({
  meta,
  modified,
  publicDetails,
});

describe("cloudflare SDK: video on demand", needsFfmpeg, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let site: Site;
  let client: VideoPlatform["client"];
  let account_id: string;
  let file: string;
  let secret: string;
  /** The first video, which is the source of all others. */
  let first: ShownVideo;
  before(async () => {
    file = await clip({ seconds: 4 });
    [platform, site] = await Promise.all([
      startVideoPlatform(scope),
      startSite(scope, {
        "/clip.mp4": { type: "video/mp4", path: file },
        "/logo.png": { type: "image/png", body: png(40, 20) },
      }),
    ]);
    ({ client, account: account_id } = platform);
  });
  after(scope.close);

  const arrived: string[] = [];
  const playable = (uid: string): Promise<ShownVideo> => (arrived.push(uid), platform.playable(uid));
  const form = async () => {
    const data = new FormData();
    data.set("file", new Blob([await readFile(file)]), "a dog.mp4");
    return data;
  };

  it("the webhook is set, and returns its secret", async () => {
    const set = await client.stream.webhooks.update({ account_id, notificationUrl: `${site.origin}/hook` });
    ({ secret } = set);
    assert.equal(set.notificationUrl, `${site.origin}/hook`);
    assert.deepEqual(await client.stream.webhooks.get({ account_id }), set);
  });

  it("a watermark profile is created from a form and from a URL, and read back", async () => {
    const made = await client.stream.watermarks.create({
      account_id,
      file: await toFile(png(40, 20), "logo.png", { type: "image/png" }),
      name: "by form",
      opacity: 0.5,
      position: "lowerLeft",
    });
    assert.deepEqual(
      [made.name, made.width, made.height, made.opacity, made.position, made.downloadedFrom],
      ["by form", 40, 20, 0.5, "lowerLeft", null],
    );
    const fetched = await client.post(`/accounts/${account_id}/stream/watermarks`, {
      body: { url: `${site.origin}/logo.png`, name: "by address" },
    });
    assert.equal(fetched.result.downloadedFrom, `${site.origin}/logo.png`);
    assert.deepEqual(await client.stream.watermarks.get(made.uid, { account_id }), made);
    assert.deepEqual(
      (await all<{ name: string }>(client.stream.watermarks.list({ account_id }))).map(({ name }) => name),
      ["by form", "by address"],
    );
    assert.equal(await client.stream.watermarks.delete(made.uid, { account_id }), "");
    await assert.rejects(client.stream.watermarks.get(made.uid, { account_id }), failsWith(404, 10003));
    await assert.rejects(
      client.stream.watermarks.create({ account_id, file: await toFile(Buffer.from("GIF89a"), "logo.png") }),
      failsWith(400, 10004),
    );
  });

  it("a video is copied from a URL, and watermarked", async () => {
    const [{ uid: watermark }] = (await all(client.stream.watermarks.list({ account_id }))) as unknown as [
      { uid: string },
    ];
    const copied: ShownVideo = await client.stream.copy.create({
      account_id,
      input: `${site.origin}/clip.mp4`,
      meta: { name: "A dog" },
      creator: "ann",
      thumbnailTimestampPct: 0.5,
      watermark: { uid: watermark },
    });
    const { size } = await stat(file);
    assert.deepEqual(
      [copied.status.state, copied.readyToStream, copied.duration, copied.input, copied.size],
      ["downloading", false, -1, { width: -1, height: -1 }, size],
    );
    assert.deepEqual(copied.meta, { name: "A dog", "downloaded-from": `${site.origin}/clip.mp4` });
    first = await playable(copied.uid);
    assert.deepEqual(
      [first.duration, first.input, first.creator, first.watermark?.uid],
      [4, { width: 320, height: 180 }, "ann", watermark],
    );
    await assert.rejects(
      client.stream.copy.create({ account_id, input: "ftp://example.com/x.mp4" }),
      failsWith(400, 10010),
    );
  });

  it("a creator uploads to a one-time URL, once", async () => {
    const { uploadURL, uid, watermark, scheduledDeletion } = await client.stream.directUpload.create({
      account_id,
      maxDurationSeconds: 60,
      creator: "bob",
      expiry: new Date(Date.now() + EXPIRY_SECONDS * 1000).toISOString(),
    });
    assert.deepEqual([watermark, scheduledDeletion], [null, null]);
    assert.equal((await client.stream.get(uid, { account_id })).status.state, "pendingupload");
    const sent = await fetch(uploadURL, { method: "POST", body: await form() });
    assert.equal(sent.status, 200, await sent.text());
    assert.equal((await playable(uid)).duration, 4);
    const again = await fetch(uploadURL, { method: "POST", body: await form() });
    assert.deepEqual([again.status, again.headers.get("x-should-retry")], [409, "false"]);
  });

  it("the SDK starts a TUS upload; a form is sent to the same URL", async () => {
    const bytes = await readFile(file);
    const response: Response = await client.stream
      .create({
        account_id,
        "Tus-Resumable": "1.0.0",
        "Upload-Length": bytes.length,
        "Upload-Metadata": `name ${btoa("by TUS")}`,
      })
      .asResponse();
    assert.equal(response.status, 201);
    const sent = await fetch(response.headers.get("location")!, {
      method: "PATCH",
      body: bytes,
      headers: {
        authorization: `Bearer ${platform.token}`,
        "tus-resumable": "1.0.0",
        "upload-offset": "0",
        "content-type": "application/offset+octet-stream",
      },
    });
    assert.deepEqual([sent.status, sent.headers.get("upload-offset")], [204, String(bytes.length)]);
    assert.equal((await playable(response.headers.get("stream-media-id")!)).meta["name"], "by TUS");
    const { result } = await client.post(`/accounts/${account_id}/stream`, { body: await form() });
    assert.equal((await playable(result.uid)).meta["name"], "a dog.mp4");
  });

  it("a clip is a separate video", async () => {
    const made: ShownVideo = await client.stream.clip.create({
      account_id,
      clippedFromVideoUID: first.uid,
      startTimeSeconds: 1,
      endTimeSeconds: 3,
      creator: "ann",
    });
    assert.deepEqual([made.status.state, made.clippedFrom], ["queued", first.uid]);
    assert.equal((await playable(made.uid)).duration, 2);
  });

  it("videos are listed, filtered, counted, edited and shown in a page", async () => {
    const names = async (query: object) =>
      (await all<ShownVideo>(client.stream.list({ account_id, ...query }))).map(({ meta, clippedFrom }) =>
        clippedFrom ? "clip" : meta["name"],
      );
    assert.deepEqual(await names({ status: "ready,inprogress" }), [
      "clip",
      "a dog.mp4",
      "by TUS",
      "a dog.mp4",
      "A dog",
    ]);
    assert.deepEqual(await names({ search: "DOG", asc: true }), ["A dog", "a dog.mp4", "a dog.mp4"]);
    assert.deepEqual(await names({ creator: "ann", limit: 1 }), ["clip"]);
    const { total, range } = await client.get(`/accounts/${account_id}/stream?include_counts=true&limit=2`);
    assert.deepEqual([total, range], [5, 5]);
    const edited: ShownVideo = await client.stream.edit(first.uid, {
      account_id,
      meta: { name: "A cat" },
      allowedOrigins: ["example.com"],
      scheduledDeletion: new Date(Date.now() + 40 * 86_400_000).toISOString(),
      publicDetails: { title: "Cats" },
    });
    assert.deepEqual(
      [edited.meta, edited.allowedOrigins, typeof edited.scheduledDeletion],
      [{ name: "A cat" }, ["example.com"], "string"],
    );
    assert.deepEqual(await client.stream.get(first.uid, { account_id }), edited);
    assert.equal(
      (await client.stream.edit(first.uid, { account_id, scheduledDeletion: null, allowedOrigins: [] }))
        .scheduledDeletion,
      null,
    );
    assert.match(
      await client.stream.embed.get(first.uid, { account_id }),
      new RegExp(`<iframe src="${platform.url}/${first.uid}/iframe"`),
    );
    const usage = await client.stream.videos.storageUsage({ account_id });
    assert.deepEqual([usage.videoCount, Math.round(usage.totalStorageMinutes * 60)], [5, 18]);
    assert.equal((await client.stream.videos.storageUsage({ account_id, creator: "ann" })).videoCount, 2);
    assert.deepEqual((await client.get(`/accounts/${account_id}/stream/usage`)).success, true);
    await assert.rejects(
      client.stream.edit(first.uid, { account_id, thumbnailTimestampPct: 2 }),
      failsWith(400, 10005),
    );
  });

  it("the webhook reports every finished video: its body is signed and equals the video in the API", async () => {
    assert.equal(arrived.length, 5);
    for (const uid of arrived) {
      const [posted, got] = [await site.received(uid, secret), await client.stream.get(uid, { account_id })];
      assert.deepEqual({ ...posted, ...changedSince(got) }, got);
      assert.deepEqual([got.readyToStream, got.status.state, got.status.pctComplete], [true, "ready", "100.000000"]);
    }
  });

  it("deleted and unknown resources are not found", async () => {
    await client.stream.delete(first.uid, { account_id });
    assert.equal((await fetch(first.playback.hls)).status, 404);
    for (const uid of [first.uid, UNKNOWN_ID])
      await assert.rejects(client.stream.get(uid, { account_id }), failsWith(404, 10003));
    assert.equal(await client.stream.webhooks.delete({ account_id }), "ok");
    await assert.rejects(client.stream.webhooks.get({ account_id }), failsWith(404, 10003));
  });

  it("every documented operation was requested and has a route, and every response matches the published schema", async () => {
    const unnamed = (operation: string) => operation.replaceAll(/\{\w+\}/g, "{}");
    const published = publishedOpenApi()
      ?.operations("stream.json")
      .filter((operation) => !operation.includes("/live_inputs") && !operation.includes("accounts_or_zones"));
    if (published !== undefined) assert.deepEqual(published.map(unnamed).toSorted(), OPERATIONS.toSorted());
    const document = (await (await fetch(`${platform.api}/openapi.json`)).json()) as { paths: Record<string, object> };
    const routes = new Set(
      Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => unnamed(`${method.toUpperCase()} ${path}`)),
      ),
    );
    assert.deepEqual(
      OPERATIONS.filter((operation) => !routes.has(operation)),
      [],
    );
    assertRequested(platform, VIDEO_OPERATIONS);
  });
});
