import assert from "node:assert/strict";
import { createPublicKey, createVerify } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { png } from "../../src/stream/watermarks/png.testing.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { publishedOpenApi } from "../support/published-openapi.ts";
import { all, failsWith, PermissionDeniedError, sdk, toFile } from "./cloudflare-sdk.ts";
import { createScope } from "./platform.ts";
import { startSite, startVideoPlatform, type ShownVideo, type Site, type VideoPlatform } from "./video-platform.ts";

const VTT = "WEBVTT\n\n00:00.500 --> 00:01.500\nmerhaba\n";
const SPOKEN = "WEBVTT\\n\\n00:00.500 --> 00:01.500\\nhello\\n";
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
    const [video, sound] = await Promise.all([
      clip({ seconds: 4 }),
      clip({ seconds: 3, video: false, extension: "m4a" }),
    ]);
    file = video;
    [platform, site] = await Promise.all([
      startVideoPlatform(scope, { REELPOST_STREAM_CAPTION_COMMAND: `printf,${SPOKEN}` }),
      startSite(scope, {
        "/clip.mp4": { type: "video/mp4", path: video },
        "/sound.m4a": { type: "audio/mp4", path: sound },
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

  /** Tracks of one kind that are offered to players, by language and name. */
  const tracks = async (kind: string): Promise<string[]> =>
    [...(await (await fetch(first.playback.hls)).text()).matchAll(/^#EXT-X-MEDIA:.*$/gm)]
      .map(([line]) => line)
      .filter((line) => line.includes(`TYPE=${kind}`))
      .map((line) =>
        [/LANGUAGE="([^"]+)"/.exec(line)?.[1], /NAME="([^"]+)"/.exec(line)?.[1]].filter(Boolean).join(" "),
      );

  it("captions are uploaded, read back, generated, and rejected without retries if they exist", async () => {
    const { language: captions } = client.stream.captions;
    const at = { account_id, identifier: first.uid };
    assert.deepEqual(
      await captions.update("tr", { ...at, file: await toFile(Buffer.from(VTT), "tr.vtt", { type: "text/vtt" }) }),
      { language: "tr", label: "Türkçe", generated: false, status: "ready" },
    );
    assert.match(await captions.vtt.get("tr", at), /merhaba/);
    assert.equal((await captions.create("en", at)).status, "inprogress");
    while ((await captions.get("en", at)).status === "inprogress") await setTimeout(50);
    assert.deepEqual(await captions.get("en", at), {
      language: "en",
      label: "English (auto-generated)",
      generated: true,
      status: "ready",
    });
    assert.match(await captions.vtt.get("en", at), /hello/);
    const before = platform.requests.length;
    await assert.rejects(captions.create("en", at), failsWith(409, 10944));
    assert.equal(platform.requests.length - before, 1, "the client retried");
    assert.deepEqual(
      (await all<{ language: string }>(client.stream.captions.get(first.uid, { account_id }))).map(
        ({ language }) => language,
      ),
      ["en", "tr"],
    );
    assert.deepEqual((await tracks("SUBTITLES")).toSorted(), ["en English (auto-generated)", "tr Türkçe"]);
    for (const language of ["en", "tr"]) assert.equal(await captions.delete(language, at), "");
    await assert.rejects(captions.get("tr", at), failsWith(404, 10003));
  });

  it("an audio track is added, becomes the default, and is deleted", async () => {
    const { audioTracks } = client.stream;
    const added = await audioTracks.copy(first.uid, {
      account_id,
      url: `${site.origin}/sound.m4a`,
      label: "Commentary",
    });
    assert.deepEqual({ ...added, uid: "" }, { uid: "", label: "Commentary", default: false, status: "queued" });
    const track = async () => (await audioTracks.get(first.uid, { account_id })).audio[0];
    while ((await track()).status === "queued") await setTimeout(50);
    assert.deepEqual(await track(), { ...added, status: "ready" });
    const at = { account_id, identifier: first.uid };
    assert.deepEqual(await audioTracks.edit(added.uid, { ...at, label: "Director", default: true }), {
      ...added,
      label: "Director",
      default: true,
      status: "ready",
    });
    assert.ok((await tracks("AUDIO")).includes("Director"), String(await tracks("AUDIO")));
    await assert.rejects(audioTracks.delete(added.uid, at), failsWith(400, 10005));
    await audioTracks.edit(added.uid, { ...at, default: false });
    assert.equal(await audioTracks.delete(added.uid, at), "ok");
    const data = new FormData();
    data.set("file", new Blob([await (await fetch(`${site.origin}/sound.m4a`)).arrayBuffer()]), "sound.m4a");
    data.set("label", "By form");
    assert.equal(
      (await client.post(`/accounts/${account_id}/stream/${first.uid}/audio`, { body: data })).result.label,
      "By form",
    );
  });

  it("downloads of either kind are created and deleted", async () => {
    const { downloads } = client.stream;
    const address = `/accounts/${account_id}/stream/${first.uid}/downloads`;
    assert.ok(["inprogress", "ready"].includes((await downloads.create(first.uid, { account_id })).default.status));
    await client.post(`${address}/audio`);
    for (const type of ["default", "audio"]) {
      let made;
      while ((made = (await downloads.get(first.uid, { account_id }))[type]).status === "inprogress")
        await setTimeout(50);
      assert.deepEqual([made.status, made.percentComplete], ["ready", 100]);
      const response = await fetch(made.url);
      assert.equal(response.status, 200);
      assert.equal(Buffer.from(await response.arrayBuffer()).toString("latin1", 4, 8), "ftyp");
    }
    assert.equal(await downloads.delete(first.uid, { account_id }), "ok");
    assert.equal((await client.delete(`${address}/audio`)).result, "ok");
    assert.deepEqual(await downloads.get(first.uid, { account_id }), {});
  });

  it("a signing key signs tokens, which become invalid when it is deleted", async () => {
    const { id, pem, jwk } = await client.stream.keys.create({ account_id, body: {} });
    assert.deepEqual(
      (await all<{ key_id: string }>(client.stream.keys.get({ account_id }))).map(({ key_id }) => key_id),
      [id],
    );
    const { token } = await client.stream.token.create(first.uid, {
      account_id,
      id,
      pem,
      exp: Math.floor(Date.now() / 1000) + EXPIRY_SECONDS,
      accessRules: [{ type: "any", action: "allow" }],
    });
    const [head, claims, signature] = token.split(".");
    assert.ok(
      createVerify("RSA-SHA256")
        .update(`${head}.${claims}`)
        .verify(createPublicKey({ key: JSON.parse(atob(jwk)), format: "jwk" }), signature, "base64url"),
    );
    const status = async () => (await fetch(`${platform.url}/${token}/manifest/video.m3u8`)).status;
    assert.equal(await status(), 200);
    assert.ok((await client.stream.token.create(first.uid, { account_id })).token);
    assert.equal(await client.stream.keys.delete(id, { account_id }), "ok");
    assert.equal(await status(), 403);
  });

  it("the webhook reports every finished video: its body is signed and equals the video in the API", async () => {
    assert.equal(arrived.length, 5);
    for (const uid of arrived) {
      const [posted, got] = [await site.heard(uid, secret), await client.stream.get(uid, { account_id })];
      assert.deepEqual({ ...posted, ...changedSince(got) }, got);
      assert.deepEqual([got.readyToStream, got.status.state, got.status.pctComplete], [true, "ready", "100.000000"]);
    }
  });

  it("a file that is not a video is reported by state and webhook, and cannot be processed; a URL that cannot be fetched is rejected", async () => {
    const garbage = Buffer.concat([Buffer.from("000000206674797069736f6d", "hex"), Buffer.alloc(50_000, "no video")]);
    const response: Response = await client.stream
      .create({ account_id, "Tus-Resumable": "1.0.0", "Upload-Length": garbage.length })
      .asResponse();
    await fetch(response.headers.get("location")!, {
      method: "PATCH",
      body: garbage,
      headers: {
        authorization: `bearer ${platform.token}`,
        "tus-resumable": "1.0.0",
        "upload-offset": "0",
        "content-type": "application/offset+octet-stream",
      },
    });
    const uid = response.headers.get("stream-media-id")!;
    await site.heard(uid, secret);
    const { status, playback, thumbnail, readyToStream }: ShownVideo = await client.stream.get(uid, { account_id });
    assert.deepEqual([status.state, readyToStream], ["error", false]);
    assert.match(status.errorReasonCode, /^ERR_(NON|MALFORMED)_VIDEO$/);
    assert.deepEqual(
      await Promise.all([playback.hls, playback.dash, thumbnail].map(async (url) => (await fetch(url)).status)),
      [424, 424, 424],
    );
    await assert.rejects(client.stream.downloads.create(uid, { account_id }), failsWith(424, 10913));
    await assert.rejects(
      client.stream.clip.create({ account_id, clippedFromVideoUID: uid, startTimeSeconds: 0, endTimeSeconds: 1 }),
      failsWith(424, 10913),
    );
    await assert.rejects(
      client.stream.copy.create({ account_id, input: `${site.origin}/nothing.mp4` }),
      failsWith(400, 10010),
    );
    await assert.rejects(
      client.post(`/accounts/${account_id}/stream`, { body: { not: "a form" } }),
      failsWith(400, 10005),
    );
  });

  it("a token reads or writes within its permissions, and a user's key has all of them", async () => {
    const groups = await all<{ id: string; name: string }>(client.user.tokens.permissionGroups.list());
    const withToken = async (name: string) => {
      const policy = {
        effect: "allow",
        resources: { [`com.cloudflare.api.account.${account_id}`]: "*" },
        permission_groups: [{ id: groups.find((group) => group.name === name)!.id }],
      };
      return sdk(platform, { apiToken: (await client.user.tokens.create({ name, policies: [policy] })).value });
    };
    const [reader, writer, stranger] = await Promise.all(
      ["Stream Read", "Stream Write", "Workers Scripts Read"].map(withToken),
    );
    const edit = { account_id, thumbnailTimestampPct: 0.25 };
    for (const able of [
      reader,
      writer,
      sdk(platform, { apiEmail: (await client.user.get()).email, apiKey: platform.token }),
    ])
      assert.equal((await able.stream.get(first.uid, { account_id })).uid, first.uid);
    assert.equal((await writer.stream.edit(first.uid, edit)).thumbnailTimestampPct, 0.25);
    await assert.rejects(reader.stream.edit(first.uid, edit), PermissionDeniedError);
    await assert.rejects(stranger.stream.get(first.uid, { account_id }), PermissionDeniedError);
  });

  it("an account with videos cannot be deleted", async () => {
    const { id: other } = await client.accounts.create({ name: "Other", type: "standard" });
    const { uid } = await client.stream.directUpload.create({ account_id: other, maxDurationSeconds: 60 });
    await assert.rejects(client.stream.get(uid, { account_id }), failsWith(404, 10003));
    const before = platform.requests.length;
    await assert.rejects(
      client.accounts.delete({ account_id: other }),
      (error: { errors: { message: string }[] }) =>
        failsWith(409, 1022)(error as never) && error.errors[0]!.message.endsWith("it has 1 video"),
    );
    assert.equal(platform.requests.length - before, 1, "the client retried");
    await client.stream.delete(uid, { account_id: other });
    assert.equal((await client.accounts.delete({ account_id: other })).id, other);
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

    const patterns = OPERATIONS.toSorted((a, b) => a.split("{}").length - b.split("{}").length).map((operation) => ({
      operation,
      pattern: new RegExp(`^${operation.replaceAll("{}", "[^/]+")}$`),
    }));
    const answered = new Set(
      platform.requests
        .filter(({ status }) => status < 300)
        .map(({ method, path }) => patterns.find(({ pattern }) => pattern.test(`${method} ${path}`))?.operation),
    );
    assert.deepEqual(
      OPERATIONS.filter((operation) => !answered.has(operation)),
      [],
    );
    assert.deepEqual(platform.problems, []);
  });
});

const STREAM = "/accounts/{}/stream";
const OPERATIONS = [
  ...["GET", "POST"].map((method) => `${method} ${STREAM}`),
  ...["clip", "copy", "direct_upload"].map((word) => `POST ${STREAM}/${word}`),
  ...["GET", "POST"].map((method) => `${method} ${STREAM}/keys`),
  `DELETE ${STREAM}/keys/{}`,
  `GET ${STREAM}/storage-usage`,
  ...["GET", "POST"].map((method) => `${method} ${STREAM}/watermarks`),
  ...["GET", "DELETE"].map((method) => `${method} ${STREAM}/watermarks/{}`),
  ...["GET", "PUT", "DELETE"].map((method) => `${method} ${STREAM}/webhook`),
  ...["GET", "POST", "DELETE"].map((method) => `${method} ${STREAM}/{}`),
  `GET ${STREAM}/{}/audio`,
  `POST ${STREAM}/{}/audio/copy`,
  ...["PATCH", "DELETE"].map((method) => `${method} ${STREAM}/{}/audio/{}`),
  `GET ${STREAM}/{}/captions`,
  ...["GET", "PUT", "DELETE"].map((method) => `${method} ${STREAM}/{}/captions/{}`),
  `POST ${STREAM}/{}/captions/{}/generate`,
  `GET ${STREAM}/{}/captions/{}/vtt`,
  ...["GET", "POST", "DELETE"].map((method) => `${method} ${STREAM}/{}/downloads`),
  ...["POST", "DELETE"].map((method) => `${method} ${STREAM}/{}/downloads/{}`),
  `GET ${STREAM}/{}/embed`,
  `POST ${STREAM}/{}/token`,
];
