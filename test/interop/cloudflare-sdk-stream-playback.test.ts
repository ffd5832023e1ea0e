import assert from "node:assert/strict";
import { createPublicKey, createVerify } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { png } from "../../src/stream/watermarks/png.testing.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { all, failsWith, toFile } from "./cloudflare-sdk.ts";
import { createScope } from "./platform.ts";
import {
  assertRequested,
  AUDIO_OPERATIONS,
  CAPTION_OPERATIONS,
  DOWNLOAD_OPERATIONS,
  SIGNING_OPERATIONS,
} from "./stream-operations.ts";
import { startSite, startVideoPlatform, type ShownVideo, type Site, type VideoPlatform } from "./video-platform.ts";

const VTT = "WEBVTT\n\n00:00.500 --> 00:01.500\nmerhaba\n";
const SPOKEN = "WEBVTT\\n\\n00:00.500 --> 00:01.500\\nhello\\n";
const TOKEN_SECONDS = 600;

describe("cloudflare SDK: captions, audio tracks, downloads and signed tokens of a video", needsFfmpeg, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let site: Site;
  let client: VideoPlatform["client"];
  let account_id: string;
  /** Copied from a URL, and watermarked. */
  let video: ShownVideo;
  before(async () => {
    const [pictures, sound] = await Promise.all([
      clip({ seconds: 4 }),
      clip({ seconds: 3, video: false, extension: "m4a" }),
    ]);
    [platform, site] = await Promise.all([
      startVideoPlatform(scope, { REELPOST_STREAM_CAPTION_COMMAND: `printf,${SPOKEN}` }),
      startSite(scope, {
        "/clip.mp4": { type: "video/mp4", path: pictures },
        "/sound.m4a": { type: "audio/mp4", path: sound },
      }),
    ]);
    ({ client, account: account_id } = platform);
    const { uid: watermark } = await client.stream.watermarks.create({
      account_id,
      file: await toFile(png(40, 20), "logo.png", { type: "image/png" }),
    });
    const { uid } = await client.stream.copy.create({
      account_id,
      input: `${site.origin}/clip.mp4`,
      watermark: { uid: watermark },
    });
    video = await platform.playable(uid);
  });
  after(scope.close);

  /** Tracks of one kind that are offered to players, by language and name. */
  const tracks = async (kind: string): Promise<string[]> =>
    [...(await (await fetch(video.playback.hls)).text()).matchAll(/^#EXT-X-MEDIA:.*$/gm)]
      .map(([line]) => line)
      .filter((line) => line.includes(`TYPE=${kind}`))
      .map((line) =>
        [/LANGUAGE="([^"]+)"/.exec(line)?.[1], /NAME="([^"]+)"/.exec(line)?.[1]].filter(Boolean).join(" "),
      );

  it("captions are uploaded, read back, generated, and rejected without retries if they exist", async () => {
    const { language: captions } = client.stream.captions;
    const at = { account_id, identifier: video.uid };
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
      (await all<{ language: string }>(client.stream.captions.get(video.uid, { account_id }))).map(
        ({ language }) => language,
      ),
      ["en", "tr"],
    );
    assert.deepEqual((await tracks("SUBTITLES")).toSorted(), ["en English (auto-generated)", "tr Türkçe"]);
    for (const language of ["en", "tr"]) assert.equal(await captions.delete(language, at), "");
    await assert.rejects(captions.get("tr", at), failsWith(404, 10003));
    assertRequested(platform, CAPTION_OPERATIONS);
  });

  it("an audio track is added, becomes the default, and is deleted", async () => {
    const { audioTracks } = client.stream;
    const added = await audioTracks.copy(video.uid, {
      account_id,
      url: `${site.origin}/sound.m4a`,
      label: "Commentary",
    });
    assert.deepEqual({ ...added, uid: "" }, { uid: "", label: "Commentary", default: false, status: "queued" });
    const track = async () => (await audioTracks.get(video.uid, { account_id })).audio[0];
    while ((await track()).status === "queued") await setTimeout(50);
    assert.deepEqual(await track(), { ...added, status: "ready" });
    const at = { account_id, identifier: video.uid };
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
      (await client.post(`/accounts/${account_id}/stream/${video.uid}/audio`, { body: data })).result.label,
      "By form",
    );
    assertRequested(platform, AUDIO_OPERATIONS);
  });

  it("downloads of either kind are created and deleted", async () => {
    const { downloads } = client.stream;
    const address = `/accounts/${account_id}/stream/${video.uid}/downloads`;
    assert.ok(["inprogress", "ready"].includes((await downloads.create(video.uid, { account_id })).default.status));
    await client.post(`${address}/audio`);
    for (const type of ["default", "audio"]) {
      let made;
      while ((made = (await downloads.get(video.uid, { account_id }))[type]).status === "inprogress")
        await setTimeout(50);
      assert.deepEqual([made.status, made.percentComplete], ["ready", 100]);
      const response = await fetch(made.url);
      assert.equal(response.status, 200);
      assert.equal(Buffer.from(await response.arrayBuffer()).toString("latin1", 4, 8), "ftyp");
    }
    assert.equal(await downloads.delete(video.uid, { account_id }), "ok");
    assert.equal((await client.delete(`${address}/audio`)).result, "ok");
    assert.deepEqual(await downloads.get(video.uid, { account_id }), {});
    assertRequested(platform, DOWNLOAD_OPERATIONS);
  });

  it("a signing key signs tokens, which become invalid when it is deleted", async () => {
    const { id, pem, jwk } = await client.stream.keys.create({ account_id, body: {} });
    assert.deepEqual(
      (await all<{ key_id: string }>(client.stream.keys.get({ account_id }))).map(({ key_id }) => key_id),
      [id],
    );
    const { token } = await client.stream.token.create(video.uid, {
      account_id,
      id,
      pem,
      exp: Math.floor(Date.now() / 1000) + TOKEN_SECONDS,
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
    assert.ok((await client.stream.token.create(video.uid, { account_id })).token);
    assert.equal(await client.stream.keys.delete(id, { account_id }), "ok");
    assert.equal(await status(), 403);
    assertRequested(platform, SIGNING_OPERATIONS);
  });
});
