import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { clip, needsFfmpeg } from "../support/media.ts";
import { all, failsWith, PermissionDeniedError, sdk } from "./cloudflare-sdk.ts";
import { createScope } from "./platform.ts";
import { startSite, startVideoPlatform, type ShownVideo, type Site, type VideoPlatform } from "./video-platform.ts";

describe("cloudflare SDK: errors of video on demand", needsFfmpeg, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let site: Site;
  let client: VideoPlatform["client"];
  let account_id: string;
  let secret: string;
  let video: ShownVideo;
  before(async () => {
    const file = await clip({ seconds: 4 });
    [platform, site] = await Promise.all([
      startVideoPlatform(scope),
      startSite(scope, { "/clip.mp4": { type: "video/mp4", path: file } }),
    ]);
    ({ client, account: account_id } = platform);
    ({ secret } = await client.stream.webhooks.update({ account_id, notificationUrl: `${site.origin}/hook` }));
    const { uid } = await client.stream.copy.create({ account_id, input: `${site.origin}/clip.mp4` });
    video = await platform.playable(uid);
  });
  after(async () => {
    await scope.close();
    assert.deepEqual(platform.problems, []);
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
    await site.received(uid, secret);
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
      assert.equal((await able.stream.get(video.uid, { account_id })).uid, video.uid);
    assert.equal((await writer.stream.edit(video.uid, edit)).thumbnailTimestampPct, 0.25);
    await assert.rejects(reader.stream.edit(video.uid, edit), PermissionDeniedError);
    await assert.rejects(stranger.stream.get(video.uid, { account_id }), PermissionDeniedError);
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
});
