// Broadcasts through the whole server: published by RTMP, RTMPS, SRT and WHIP, played by common players, and afterwards
// an ordinary video.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { clientFile, FAKE_CAMERA, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { needsFfmpeg } from "../support/media.ts";
import { HEVC, probePackets, startFfmpeg } from "./live-ffmpeg.ts";
import { receiveNotifications } from "./live-notifications.ts";
import { LIVE_PAGE } from "./live-page.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type ShownVideo, type VideoPlatform } from "./video-platform.ts";

interface ShownInput {
  uid: string;
  rtmp: { url: string; streamKey: string };
  rtmps: { url: string; streamKey: string };
  rtmpPlayback: { url: string; streamKey: string };
  srtPlayback: { url: string; streamId: string; passphrase: string };
  srt: { url: string; streamId: string; passphrase: string };
  webRTC: { url: string };
  webRTCPlayback: { url: string };
  playback: { hls: string; dash: string };
  status: string | null;
}

const missing =
  !existsSync(clientFile("hls.js")) &&
  process.env["REQUIRE_ALL"] !== "1" &&
  "the clients of the tests are not installed";

describe("a broadcast through the whole server", { skip: needsFfmpeg.skip || withoutChromium() || missing }, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let browser: Browser;
  let site: string;
  before(async () => {
    [platform, browser, site] = await Promise.all([
      startVideoPlatform(scope, { REELPOST_LIVE_RECONNECT_SECONDS: "2" }),
      openBrowser(scope, FAKE_CAMERA),
      openSite(scope, {
        "/": { type: "text/html", body: LIVE_PAGE },
        "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
      }),
    ]);
  });
  after(async () => {
    await scope.close();
    assert.deepEqual(platform.problems, []);
  });

  const input = (body: object = { recording: { mode: "automatic" } }): Promise<ShownInput> =>
    platform.client.stream.liveInputs.create({ account_id: platform.account, meta: { name: "Show" }, ...body });
  const shown = (uid: string): Promise<ShownInput> =>
    platform.client.stream.liveInputs.get(uid, { account_id: platform.account });

  const push = (...target: string[]) => startFfmpeg(scope, target);

  async function until<Value>(look: () => Promise<Value | undefined | false>, what: string): Promise<Value> {
    for (const began = Date.now(); ; await sleep(50)) {
      const found = await look().catch(() => undefined);
      if (found !== undefined && found !== false) return found;
      assert.ok(Date.now() - began < 60_000, `timed out waiting for ${what}: ${platform.server.log().slice(-3000)}`);
    }
  }
  const onAir = (of: ShownInput) =>
    until(async () => (await fetch(of.playback.hls)).status === 200, "a playable broadcast");
  const hasStatus = (of: ShownInput, status: string) =>
    until(async () => (await shown(of.uid)).status === status, `the status ${status}`);
  const recordings = (uid: string) =>
    platform.ask<ShownVideo[]>(`/accounts/${platform.account}/stream/live_inputs/${uid}/videos`);
  async function inPage<Result>(expression: string): Promise<Result> {
    const { page, problems } = await openPage(browser, site);
    try {
      return (await page.evaluate(expression)) as Result;
    } catch (err) {
      throw new Error(`${String(err)}; ${problems.join("; ")}; ${platform.server.log().slice(-2000)}`, { cause: err });
    } finally {
      await page.context().close();
    }
  }
  it(
    "over RTMP plays with low latency in hls.js, by WHEP and over RTMP, and becomes a video shortly after its end",
    { timeout: 110_000 },
    async () => {
      const show = await input({ recording: { mode: "automatic" }, preferLowLatency: true });
      const publisher = push("-f", "flv", `${show.rtmp.url}${show.rtmp.streamKey}`);
      await onAir(show);
      await hasStatus(show, "connected");
      const [running] = await recordings(show.uid);
      assert.deepEqual([running!.status.state, running!.meta["name"]?.startsWith("Show ")], ["live-inprogress", true]);
      const lifecycle = (await (await fetch(`${platform.url}/${show.uid}/lifecycle`)).json()) as object;
      assert.deepEqual(lifecycle, { isInput: true, videoUID: running!.uid, live: true });

      const seen = await inPage<{
        problems: string[];
        parts: number;
        latency: number;
        levels: number[];
        width: number;
      }>(`live(${JSON.stringify(show.playback.hls)})`);
      assert.deepEqual(seen.problems, []);
      assert.ok(seen.parts > 0 && seen.levels.includes(360), JSON.stringify(seen));
      const called = await inPage<{ kinds: string[]; width: number }>(
        `whep(${JSON.stringify(show.webRTCPlayback.url)})`,
      );
      assert.deepEqual(called, { kinds: ["audio", "video"], width: 640 });
      const { srtPlayback: srt, rtmpPlayback: rtmp } = show;
      for (const url of [
        `${rtmp.url}${rtmp.streamKey}`,
        `${srt.url}?streamid=${srt.streamId}&passphrase=${srt.passphrase}`,
        show.playback.hls,
        show.playback.dash,
      ]) {
        const { stderr } = await promisify(execFile)(
          "ffmpeg",
          ["-hide_banner", "-loglevel", "error", "-nostdin", "-i", url, "-t", "1", "-c", "copy", "-f", "null", "-"],
          { timeout: 60_000 },
        );
        assert.equal(stderr, "", url);
      }

      await publisher.stop();
      const over = await until(
        async () => (await recordings(show.uid)).find(({ status }) => status.state === "ready"),
        "a ready recording",
      );
      assert.equal(over.uid, running!.uid);
      // Requested immediately, usually while the recording is still being merged into one file.
      const downloads = `/accounts/${platform.account}/stream/${over.uid}/downloads`;
      assert.match(
        (await platform.ask<{ default: { status: string } }>(downloads, { method: "POST" })).default.status,
        /^(inprogress|ready)$/,
      );
      const download = await until(async () => {
        const { default: file } = await platform.ask<{ default: { status: string; url: string } }>(downloads);
        return file.status === "ready" && file.url;
      }, "a download");
      assert.equal((await fetch(download)).status, 200);
      assert.ok(over.duration > 4, `${over.duration} s`);
      const { stdout, stderr: said } = await probePackets(over.playback.hls);
      assert.equal(said, "");
      const streams = (JSON.parse(stdout) as { streams: { codec_type: string; nb_read_packets: string }[] }).streams;
      const pictures = streams
        .filter(({ codec_type: type }) => type === "video")
        .map(({ nb_read_packets: count }) => Number(count));
      assert.ok(
        pictures.some((count) => Math.abs(count - over.duration * 25) < 15),
        `${pictures.join(" ")} frames in ${over.duration} s`,
      );
    },
  );

  it(
    "follows changes of requireSignedURLs and allowedOrigins of its input immediately in HLS, DASH, thumbnails and WHEP",
    { timeout: 110_000 },
    async () => {
      const show = await input();
      const publisher = push("-f", "flv", `${show.rtmp.url}${show.rtmp.streamKey}`);
      await onAir(show);
      const [{ uid: video }] = (await recordings(show.uid)) as [ShownVideo];
      const { page } = await openPage(browser, site);
      await page.evaluate(`whep(${JSON.stringify(show.webRTCPlayback.url)}).then(() => {})`);
      const playlist = await (await fetch(show.playback.hls)).text();
      const media = new URL(/^source\.m3u8\S*$/m.exec(playlist)![0], show.playback.hls);
      const segment = await until(
        async () => /^\S+\/\d+\.m4s\S*$/m.exec(await (await fetch(media)).text())?.[0],
        "a segment",
      );
      const urls = [show.uid, video].flatMap((id) =>
        ["manifest/video.m3u8", "manifest/video.mpd", "thumbnails/thumbnail.jpg"].map(
          (path) => `${platform.url}/${id}/${path}`,
        ),
      );
      const statuses = () =>
        Promise.all(
          [...urls, media, new URL(segment, media)].map(async (url) => {
            const response = await fetch(url);
            const body = await response.text();
            assert.notEqual(response.status, 424, body);
            return response.status;
          }),
        );
      const set = (recording: object) =>
        platform.ask(`/accounts/${platform.account}/stream/live_inputs/${show.uid}`, {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ recording }),
        });
      const all = (status: number) => Array.from({ length: urls.length + 2 }, () => status);
      assert.deepEqual(await statuses(), all(200));
      await set({ requireSignedURLs: true });
      assert.deepEqual(await statuses(), all(401));
      assert.match(await inPage<string>(`whep(${JSON.stringify(show.webRTCPlayback.url)}).catch(String)`), /401/);
      await page.evaluate(
        `until("the end of the connection", () => ["disconnected", "failed", "closed"].includes(video.peer.connectionState))`,
      );
      await page.context().close();
      await set({ requireSignedURLs: false, allowedOrigins: ["elsewhere.example"] });
      const embedded = await Promise.all(
        urls.map(async (url) => (await fetch(url, { headers: { origin: "https://evil.example" } })).status),
      );
      assert.deepEqual(
        embedded,
        urls.map(() => 403),
      );
      await set({ allowedOrigins: [] });
      assert.deepEqual(await statuses(), all(200));
      await set({ requireSignedURLs: true });
      await publisher.stop();
      const over = await until(
        async () => (await recordings(show.uid)).find(({ status }) => status.state === "ready"),
        "a ready recording",
      );
      assert.equal(over.requireSignedURLs, true);
    },
  );

  for (const [name, target] of [
    ["RTMPS", ({ rtmps }: ShownInput) => ["-f", "flv", `${rtmps.url}${rtmps.streamKey}`]],
    [
      "SRT",
      ({ srt }: ShownInput) => ["-f", "mpegts", `${srt.url}?streamid=${srt.streamId}&passphrase=${srt.passphrase}`],
    ],
  ] as const) {
    it(`over ${name} plays in hls.js while live`, { timeout: 110_000 }, async () => {
      const show = await input();
      const publisher = push(...target(show));
      await onAir(show);
      const seen = await inPage<{ problems: string[]; width: number }>(`live(${JSON.stringify(show.playback.hls)})`);
      assert.deepEqual(seen.problems, []);
      await publisher.stop();
      await until(async () => (await recordings(show.uid))[0]?.status.state === "ready", "a ready recording");
    });
  }

  it("in 360p HEVC plays in hls.js in a browser without HEVC", { timeout: 110_000 }, async () => {
    const show = await input();
    const { url, streamId, passphrase } = show.srt;
    const publisher = push(...HEVC, "-f", "mpegts", `${url}?streamid=${streamId}&passphrase=${passphrase}`);
    await onAir(show);
    const seen = await inPage<{ problems: string[]; levels: number[]; width: number }>(
      `live(${JSON.stringify(show.playback.hls)})`,
    );
    assert.deepEqual([seen.problems, seen.levels, seen.width], [[], [360], 640]);
    const playlist = await (await fetch(show.playback.hls)).text();
    assert.match(playlist, /CODECS="hvc1[^\n]*RESOLUTION=640x360|RESOLUTION=640x360[^\n]*CODECS="hvc1/);
    await publisher.stop();
    await until(async () => (await recordings(show.uid))[0]?.status.state === "ready", "a ready recording");
  });

  it(
    "is published from one page over WHIP, and played on another page over WHEP and by other viewers over HLS",
    { timeout: 110_000 },
    async () => {
      const show = await input();
      const { page } = await openPage(browser, site);
      await page.evaluate(`publish(${JSON.stringify(show.webRTC.url)})`);
      const called = await inPage<{ kinds: string[] }>(`whep(${JSON.stringify(show.webRTCPlayback.url)})`);
      assert.deepEqual(called.kinds, ["audio", "video"]);
      await onAir(show);
      const seen = await inPage<{ problems: string[] }>(`live(${JSON.stringify(show.playback.hls)})`);
      assert.deepEqual(seen.problems, []);
      assert.equal(await page.evaluate("unpublish()"), 200);
      await page.context().close();
      await until(async () => (await recordings(show.uid))[0]?.status.state === "ready", "a ready recording");
    },
  );

  it(
    "rejects a wrong key and a second publisher, and ends when the key of its input is rotated",
    { timeout: 110_000 },
    async () => {
      const show = await input({ recording: { mode: "off" } });
      const { url, received } = await receiveNotifications(scope);
      await platform.ask(`/accounts/${platform.account}/stream/webhook/endpoints`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ notificationUrl: url, topics: ["live"], liveInputs: [show.uid] }),
      });
      const stranger = push("-f", "flv", `${show.rtmp.url}${"0".repeat(65)}`);
      assert.notEqual(await stranger.ended, 0);
      const publisher = push("-f", "flv", `${show.rtmp.url}${show.rtmp.streamKey}`);
      await hasStatus(show, "connected");
      const unrecorded = await fetch(show.playback.hls);
      assert.equal(unrecorded.status, 404);
      assert.match(await unrecorded.text(), /Recording is off.*\n.*recording\.mode/);
      const second = push("-f", "flv", `${show.rtmp.url}${show.rtmp.streamKey}`);
      assert.notEqual(await second.ended, 0);
      await hasStatus(show, "connected");
      await platform.ask(`/accounts/${platform.account}/stream/live_inputs/${show.uid}/rotate_keys`, {
        method: "POST",
      });
      await publisher.ended;
      assert.notEqual((await shown(show.uid)).rtmp.streamKey, show.rtmp.streamKey);
      await until(async () => received.length === 2, "notifications");
      // Deliveries may overtake each other.
      assert.deepEqual(received.toSorted(), [
        `Show ${show.uid} live_input.connected`,
        `Show ${show.uid} live_input.disconnected`,
      ]);
    },
  );

  it("is measured, and its publisher is disconnected on request", { timeout: 110_000 }, async () => {
    const show = await input({ recording: { mode: "off" } });
    const path = `/accounts/${platform.account}/stream/live_inputs/${show.uid}`;
    const publisher = push("-f", "flv", `${show.rtmp.url}${show.rtmp.streamKey}`);
    const metrics = () => platform.ask<{ samples: { frameRate: number }[] }>(`${path}/metrics`);
    await until(async () => ((await metrics()).samples.at(-1)?.frameRate ?? 0) > 0, "measurements of the broadcast");
    await platform.ask(`${path}/disconnect`, { method: "POST" });
    await publisher.ended;
    await until(async () => (await shown(show.uid)).status !== "connected", "the end of the broadcast");
  });
});
