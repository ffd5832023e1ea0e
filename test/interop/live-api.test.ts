import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { freePort } from "../support/free-ports.ts";
import { publishedOpenApi } from "../support/published-openapi.ts";
import { all, failsWith } from "./cloudflare-sdk.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type VideoPlatform } from "./video-platform.ts";

const KEY = /^[0-9a-f]{32}k[0-9a-f]{32}$/;
const UNKNOWN_UID = "0".repeat(32);

interface Input {
  uid: string;
  enabled: boolean;
  meta: Record<string, string>;
  recording: Record<string, unknown>;
  rtmps: { url: string; streamKey: string };
  rtmpsPlayback: { url: string; streamKey: string };
  srt: { url: string; streamId: string; passphrase: string };
  srtPlayback: { url: string; streamId: string; passphrase: string };
  webRTC: { url: string };
  webRTCPlayback: { url: string };
  playback: { hls: string; dash: string };
  status: string | null;
  modified: string;
  keysRotatedAt?: string;
}

describe("cloudflare SDK: live inputs", () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let client: VideoPlatform["client"];
  let account_id: string;
  let input: Input;
  let ports: [rtmps: number, srt: number];
  before(async () => {
    const [rtmps, srt] = (ports = [await freePort(), await freePort()]);
    platform = await startVideoPlatform(scope, {
      REELPOST_LIVE_PUBLIC_HOST: "live.example.com",
      REELPOST_LIVE_RTMPS_PORT: String(rtmps),
      REELPOST_LIVE_SRT_PORT: String(srt),
    });
    ({ client, account: account_id } = platform);
  });
  after(scope.close);

  it("an input is created, with all its publishing and playback URLs", async () => {
    input = await client.stream.liveInputs.create({
      account_id,
      meta: { name: "test stream 1" },
      defaultCreator: "ann",
      deleteRecordingAfterDays: 45,
      preferLowLatency: true,
      recording: {
        mode: "automatic",
        timeoutSeconds: 10,
        requireSignedURLs: true,
        allowedOrigins: ["example.com"],
        hideLiveViewerCount: true,
      },
    });
    const { uid, rtmps, rtmpsPlayback, srt, srtPlayback, webRTC, webRTCPlayback, playback } = input;
    assert.deepEqual(
      [rtmps.url, srt.url],
      [`rtmps://live.example.com:${ports[0]}/live/`, `srt://live.example.com:${ports[1]}`],
    );
    for (const key of [rtmps.streamKey, rtmpsPlayback.streamKey, srt.passphrase, srtPlayback.passphrase])
      assert.match(key, KEY);
    assert.notEqual(rtmps.streamKey, rtmpsPlayback.streamKey);
    assert.deepEqual([srt.streamId, srtPlayback.streamId], [uid, `play${uid}`]);
    assert.deepEqual(
      [webRTC.url, webRTCPlayback.url],
      [`${platform.url}/${rtmps.streamKey}/webRTC/publish`, `${platform.url}/${uid}/webRTC/play`],
    );
    assert.deepEqual(playback, {
      hls: `${platform.url}/${uid}/manifest/video.m3u8`,
      dash: `${platform.url}/${uid}/manifest/video.mpd`,
    });
    assert.deepEqual([input.status, input.enabled, "keysRotatedAt" in input], [null, true, false]);
    assert.deepEqual(await client.stream.liveInputs.get(uid, { account_id }), input);
  });

  it("an update preserves the fields it does not specify", async () => {
    const { recording, meta } = input;
    const changed: Input = await client.stream.liveInputs.update(input.uid, {
      account_id,
      enabled: false,
      recording: { mode: "off" },
    });
    assert.deepEqual(changed, {
      ...input,
      enabled: false,
      recording: { ...recording, mode: "off" },
      modified: changed.modified,
    });
    assert.deepEqual(changed.meta, meta);
    const { result } = await client.post(`/accounts/${account_id}/stream/live_inputs/${input.uid}/enable`);
    assert.deepEqual(
      [
        result.enabled,
        (await client.post(`/accounts/${account_id}/stream/live_inputs/${input.uid}/disable`)).result.enabled,
      ],
      [true, false],
    );
    await assert.rejects(
      client.stream.liveInputs.update(input.uid, { account_id, deleteRecordingAfterDays: 3 }),
      failsWith(400, 10005),
    );
  });

  it("rotating keys returns new keys and preserves the uid", async () => {
    const { result }: { result: Input } = await client.post(
      `/accounts/${account_id}/stream/live_inputs/${input.uid}/rotate_keys`,
    );
    assert.equal(result.uid, input.uid);
    assert.notEqual(result.rtmps.streamKey, input.rtmps.streamKey);
    assert.notEqual(result.srtPlayback.passphrase, input.srtPlayback.passphrase);
    assert.ok(Math.abs(Date.parse(result.keysRotatedAt!) - Date.now()) < 60_000);
  });

  it("inputs are listed without keys, and counted", async () => {
    const second: Input = await client.stream.liveInputs.create({ account_id });
    const { liveInputs, total, range } = await client.stream.liveInputs.list({ account_id, include_counts: true });
    assert.deepEqual([liveInputs.map(({ uid }: Input) => uid), total, range], [[second.uid, input.uid], 2, 2]);
    assert.ok(!JSON.stringify(liveInputs).includes(input.rtmps.streamKey));
    assert.deepEqual(Object.keys(await client.stream.liveInputs.list({ account_id })), ["liveInputs"]);
    await client.stream.liveInputs.delete(second.uid, { account_id });
  });

  it("an Idempotency-Key creates one input; after the input is deleted there is a conflict, which is not retried", async () => {
    const params = { account_id, meta: { name: "once" }, "Idempotency-Key": "the first one" };
    const first: Input = await client.stream.liveInputs.create(params);
    assert.deepEqual(await client.stream.liveInputs.create(params), first);
    await client.stream.liveInputs.delete(first.uid, { account_id });
    const before = platform.requests.length;
    await assert.rejects(client.stream.liveInputs.create(params), failsWith(409, 10991));
    assert.equal(platform.requests.length, before + 1);
  });

  it("outputs are added, listed, enabled, disabled and deleted", async () => {
    const live = client.stream.liveInputs;
    const made = await live.outputs.create(input.uid, {
      account_id,
      url: "rtmp://a.rtmp.example.com/live2",
      streamKey: "uzya-f19y-g2g9",
    });
    assert.deepEqual(
      [made.url, made.streamKey, made.enabled],
      ["rtmp://a.rtmp.example.com/live2", "uzya-f19y-g2g9", true],
    );
    const off = await live.outputs.update(made.uid, { account_id, live_input_identifier: input.uid, enabled: false });
    assert.deepEqual(off, { ...made, enabled: false });
    assert.deepEqual(await all(live.outputs.list(input.uid, { account_id })), [off]);
    await assert.rejects(
      live.outputs.create(input.uid, { account_id, url: "http://example.com/", streamKey: "x" }),
      failsWith(400, 10005),
    );
    await live.outputs.delete(made.uid, { account_id, live_input_identifier: input.uid });
    assert.deepEqual(await all(live.outputs.list(input.uid, { account_id })), []);
    await assert.rejects(
      live.outputs.update(made.uid, { account_id, live_input_identifier: input.uid, enabled: true }),
      failsWith(404, 10003),
    );
  });

  it("responds with 204 for manifests and 404 for thumbnails before the first broadcast", async () => {
    const { uid } = await client.stream.liveInputs.create({ account_id, recording: { mode: "automatic" } });
    for (const path of ["manifest/video.m3u8", "manifest/video.mpd"]) {
      const early = await fetch(`${platform.url}/${uid}/${path}`);
      assert.deepEqual([early.status, await early.text()], [204, ""]);
    }
    const thumbnail = await fetch(`${platform.url}/${uid}/thumbnails/thumbnail.jpg`);
    assert.equal(thumbnail.status, 404);
    assert.match(await thumbnail.text(), /This live input has had no broadcast yet/);
    await client.stream.liveInputs.delete(uid!, { account_id });
  });

  it("viewers get the current status without a token; the owner gets the history", async () => {
    const answerOf = async (path: string) => {
      const response = await fetch(`${platform.url}/${input.uid}/${path}`, {
        headers: { origin: "https://example.com" },
      });
      return [
        response.status,
        response.headers.get("access-control-allow-origin"),
        response.status === 200 && (await response.json()),
      ];
    };
    assert.deepEqual(await answerOf("lifecycle"), [200, "*", { isInput: true, videoUID: null, live: false }]);
    assert.deepEqual(await answerOf("views"), [403, "*", false]);
    await client.stream.liveInputs.update(input.uid, { account_id, recording: { hideLiveViewerCount: false } });
    assert.deepEqual(await answerOf("views"), [200, "*", { liveViewers: 0 }]);
    const below = `/accounts/${account_id}/stream/live_inputs/${input.uid}`;
    assert.deepEqual((await client.get(`${below}/videos`)).result, []);
    assert.deepEqual((await client.get(`${below}/history`)).result, []);
    assert.partialDeepStrictEqual((await client.get(`${below}/status`)).result, {
      state: null,
      live: false,
      videoUID: null,
      viewers: 0,
      health: null,
      outputs: [],
    });
  });

  it("deleted and unknown resources are not found", async () => {
    await client.stream.liveInputs.delete(input.uid, { account_id });
    for (const uid of [input.uid, UNKNOWN_UID]) {
      await assert.rejects(client.stream.liveInputs.get(uid, { account_id }), failsWith(404, 10003));
      await assert.rejects(client.stream.liveInputs.delete(uid, { account_id }), failsWith(404, 10003));
    }
    assert.equal((await fetch(`${platform.url}/${input.uid}/lifecycle`)).status, 404);
  });

  // The published API is not part of this project. Without it, the test is omitted, since there are no schemas to
  // compare with.
  const published = publishedOpenApi();
  if (published !== undefined)
    it("every response of every operation matched the published schema", () => {
      assert.deepEqual(platform.problems, []);
      const live = published.operations("stream.json").filter((name) => name.includes("live_inputs"));
      const pattern = (name: string) => new RegExp(`^${name.replace(/\{[^}]+\}/g, "[^/]+")}$`);
      const missing = live.filter(
        (name) =>
          !platform.requests.some(
            ({ method, path, status }) => status < 300 && pattern(name).test(`${method} ${path}`),
          ),
      );
      assert.deepEqual([live.length, missing], [12, []]);
    });
});
