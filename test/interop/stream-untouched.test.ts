import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { settingsSchema } from "../../src/kernel/settings.ts";
import { openFsObjects } from "../../src/store/index.ts";
import { createSourcePassthrough } from "../../src/stream/passthrough/passthrough.ts";
import { createPlayback } from "../../src/stream/playback/playback.ts";
import { createProbe } from "../../src/stream/probe/probe.ts";
import { createSegments } from "../../src/stream/encode/segments.ts";
import { type Video } from "../../src/stream/index.ts";
import { createMediaTools } from "../../src/stream/media/index.ts";
import { anyVideo, serveDelivery, UID } from "../../src/stream/playback/playback.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

const page = (player: string, play: string) => `<!doctype html><video></video><script src="/${player}"></script><script>
  const video = document.querySelector("video");
  const problems = [];
  const widths = new Set();
  const until = async (what, met) => {
    for (const began = Date.now(); !met(); ) {
      if (Date.now() - began > 50000) throw new Error("timed out waiting for " + what + " at " + video.currentTime + " s, " + JSON.stringify(problems));
      widths.add(video.videoWidth);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const result = () => ({ problems, widths: [...widths].filter(Boolean), at: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames });
  ${play}
</script>`;

const HLS = page(
  "hls.js",
  `async function play(url, levels) {
  // The small buffer means that most of the video is not loaded yet when the other rendition is selected.
  const hls = new Hls({ enableWorker: false, maxBufferLength: 2, maxMaxBufferLength: 2 });
  // Waiting for an encoder is not an error, and switching renditions aborts the load in progress.
  hls.on(Hls.Events.ERROR, (_name, data) => /^(aborted|buffer(StalledError|NudgeOnStall))$/.test(data.details) || problems.push(data.type + " " + data.details + " at " + video.currentTime));
  const parsed = new Promise((resolve) => hls.once(Hls.Events.MANIFEST_PARSED, resolve));
  hls.loadSource(url);
  hls.attachMedia(video);
  await parsed;
  const named = (name) => hls.levels.findIndex((level) => level.uri.endsWith("/" + name + ".m3u8"));
  hls.startLevel = hls.loadLevel = named(levels.first);
  await video.play();
  await until("playing", () => video.currentTime > 1);
  hls.nextLevel = named(levels.next);
  video.playbackRate = 2;
  await until("the end", () => video.ended);
  return result();
}`,
);

const DASH = page(
  "dash.js",
  `async function play(url) {
  const player = dashjs.MediaPlayer().create();
  player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
  player.on("error", (event) => problems.push(JSON.stringify(event.error?.message ?? event)));
  player.initialize(video, url, true);
  await until("playing", () => video.currentTime > 1);
  video.currentTime = 8.5;
  await until("playing after a seek", () => !video.seeking && video.currentTime > 8.7);
  await until("the end", () => video.ended);
  return result();
}`,
);

interface Played {
  problems: string[];
  widths: number[];
  at: number;
  frames: number;
}

/** Plays an uploaded file to its last frame: nothing is encoded before a player requests it. */
describe("a video without encoded segments", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  let browser: Browser;
  let site: string;
  const scope = suiteScope();

  before(async () => {
    browser = await openBrowser(scope);
    site = await openSite(scope, {
      "/hls": { type: "text/html", body: HLS },
      "/dash": { type: "text/html", body: DASH },
      "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
      "/dash.js": { type: "text/javascript", file: clientFile("dashjs/dist/modern/umd/dash.all.debug.js") },
    });
  });

  async function uploaded(path: string): Promise<{ url(manifest: string): string; video: Video }> {
    const folder = mkdtempSync(join(tmpdir(), "reelpost-untouched-"));
    scope.after(async () => rmSync(folder, { recursive: true, force: true }));
    const objects = await openFsObjects({ folder: join(folder, "objects") });
    const settings = settingsSchema.parse({}).stream;
    const tools = createMediaTools({ settings, log: silentLog });
    scope.after(() => tools.close());
    const segments = createSegments({
      tools,
      objects,
      clock: systemClock,
      log: silentLog,
      scratch: join(folder, "scratch"),
    });
    scope.after(() => segments.close());
    const sourceKey = `stream/${UID}/source`;
    await objects.put(sourceKey, createReadStream(path), { durable: false });
    const model = await createProbe({ tools, objects, settings, folder }).probe({
      uid: UID,
      sourceKey,
      watermark: null,
    });
    const video = anyVideo({ state: "inprogress", pctComplete: 0, sourceKey, model });
    const origin = await serveDelivery(scope, {
      videos: [video],
      routes: createPlayback({ segments, source: createSourcePassthrough({ objects, log: silentLog, enabled: true }) }),
    });
    return { video, url: (manifest) => `${origin}/${UID}/manifest/${manifest}` };
  }

  async function play(at: string, ...args: unknown[]): Promise<Played> {
    const { page, problems } = await openPage(browser, `${site}/${at}`);
    const played = (await page.evaluate(`play(${args.map((arg) => JSON.stringify(arg)).join(", ")})`)) as Played;
    await page.context().close();
    assert.deepEqual([...played.problems, ...problems], []);
    return played;
  }

  const plays = async () => uploaded(await clip({ seconds: 10, size: "640x360", fps: "30000/1001" }));

  test(
    "hls.js starts with the unmodified source and switches down to a rung encoded in the meantime",
    { timeout: 110_000 },
    async () => {
      const { url, video } = await plays();
      assert.equal(video.model?.video?.passthrough, true);
      const played = await play("hls", url("video.m3u8"), { first: "source", next: "240p" });
      assert.ok(played.at > 9.8);
      assert.deepEqual(played.widths, [640, 426]);
    },
  );

  test(
    "hls.js starts with an encoded rendition and switches up to the source rendition",
    { timeout: 110_000 },
    async () => {
      const { url } = await plays();
      const played = await play("hls", url("video.m3u8"), { first: "240p", next: "source" });
      assert.ok(played.at > 9.8);
      assert.deepEqual(played.widths, [426, 640]);
    },
  );

  test("dash.js plays segments encoded on request, including after a seek", { timeout: 110_000 }, async () => {
    const { url } = await plays();
    const played = await play("dash", url("video.mpd"));
    assert.ok(played.at > 9.8);
    assert.ok(played.frames > 60);
  });

  test(
    "ffmpeg reads every frame of every rung and of the source, without a warning",
    { timeout: 110_000 },
    async () => {
      const { url, video } = await plays();
      const { frames } = video.model!.segments;
      for (const manifest of ["video.m3u8", "video.mpd"]) {
        const rungs = video.model!.ladder.length + (manifest === "video.m3u8" ? 1 : 0);
        // Reads one rung at a time: the DASH demuxer of ffmpeg stops at the end of the shortest track, a frame or two
        // before the others.
        for (let n = 0; n < rungs; n++) {
          const { stderr, stdout } = await promisify(execFile)(
            "ffmpeg",
            ["-nostdin", "-loglevel", "warning", "-i", url(manifest), "-map", `0:v:${n}`, "-f", "framecrc", "-"],
            { timeout: 110_000 },
          );
          assert.equal(stderr, "", manifest);
          assert.equal(
            stdout.split("\n").filter((line) => line.startsWith("0,")).length,
            frames,
            `${manifest}, rung ${n}`,
          );
        }
      }
    },
  );
});
