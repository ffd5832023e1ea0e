import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { silentLog } from "../../src/kernel/index.ts";
import { createSourcePassthrough } from "../../src/stream/passthrough/passthrough.ts";
import { emptyObjects, ntscModel, serveVideo } from "../../src/stream/playback/playback.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg, type ClipRecipe } from "../support/media.ts";

/** Heavily reordered frames and audio with priming, as in files from a camera. */
const RECIPE: ClipRecipe = {
  seconds: 10.01,
  fps: "30000/1001",
  video: [
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-pix_fmt",
    "yuv420p",
    "-x264-params",
    "bframes=4:b-adapt=0:b-pyramid=normal:scenecut=0",
  ],
  audio: ["-c:a", "aac", "-b:a", "64k", "-ac", "2", "-ar", "44100"],
};

const PAGE = `<!doctype html><video muted></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  const problems = [];
  const until = async (what, met) => {
    for (const began = Date.now(); !met(); ) {
      if (Date.now() - began > 50000) throw new Error("timed out waiting for " + what + " at " + video.currentTime + " s, " + JSON.stringify(problems));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  async function play(url, { switches }) {
    const hls = new Hls({ enableWorker: false, startLevel: -1 });
    // A change of renditions aborts requests, and a busy machine stalls the buffer: hls.js reports both as non-fatal
    // errors.
    hls.on(Hls.Events.ERROR, (_name, { type, details }) => /^(aborted|buffer(StalledError|NudgeOnStall))$/.test(details) || problems.push(type + " " + details));
    const parsed = new Promise((resolve) => hls.once(Hls.Events.MANIFEST_PARSED, resolve));
    hls.loadSource(url);
    hls.attachMedia(video);
    await parsed;
    const source = hls.levels.findIndex(({ url }) => url[0].includes("source.m3u8"));
    hls.currentLevel = source;
    await until("data", () => video.readyState >= 3);
    const starts = { first: video.buffered.start(0), ranges: video.buffered.length };
    await video.play();
    await until("playing", () => video.currentTime > 0.3);
    if (switches) {
      hls.nextLevel = source === 0 ? 1 : 0;
      await until("another rendition", () => video.currentTime > 5);
      hls.nextLevel = source;
    }
    video.playbackRate = 2;
    await until("the end", () => video.ended);
    const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
    return { problems, ...starts, at: video.currentTime, frames: totalVideoFrames, corrupted: corruptedVideoFrames, source, received: video.webkitAudioDecodedByteCount > 0 };
  }
</script>`;

interface Played {
  problems: string[];
  first: number;
  ranges: number;
  at: number;
  frames: number;
  corrupted: number;
  source: number;
  received: boolean;
}

for (const [what, switches] of [
  ["from the first to the last frame", false],
  ["and switches to an encoded rendition and back", true],
] as const) {
  test(`hls.js plays an unmodified source ${what}`, { skip: needsFfmpeg.skip || withoutChromium() }, async (t) => {
    const ends: (() => Promise<void>)[] = [];
    t.after(async () => {
      for (const end of ends.toReversed()) await end();
    });
    const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
    const objects = await emptyObjects(scope);
    await objects.put("stream/x/source", await readFile(await clip(RECIPE)));
    const plain = ntscModel();
    const model = {
      ...plain,
      video: { ...plain.video!, passthrough: true },
      audio: { ...plain.audio!, passthrough: true },
    };
    const { origin } = await serveVideo(scope, {
      tracks: { source: createSourcePassthrough({ objects, log: silentLog, enabled: true }) },
      video: { sourceKey: "stream/x/source" },
      model,
    });
    const browser = await openBrowser(scope);
    const site = await openSite(scope, {
      "/": { type: "text/html", body: PAGE },
      "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
    });
    const { page, problems } = await openPage(browser, site);
    const played = (await page.evaluate(
      `play(${JSON.stringify(`${origin}/0123456789abcdef0123456789abcdef/manifest/video.m3u8`)}, ${JSON.stringify({ switches })})`,
    )) as Played;
    assert.deepEqual([played.problems, problems, played.corrupted], [[], [], 0]);
    assert.ok(played.source >= 0, "the source is among the levels");
    assert.ok(
      played.first < 0.05 && played.ranges === 1,
      `buffered from ${played.first} on, in ${played.ranges} ranges`,
    );
    assert.ok(Math.abs(played.at - 10.01) < 0.1, `playback ended at ${played.at}`);
    assert.equal(played.received, true);
    if (!switches) assert.ok(played.frames >= 298 && played.frames <= 300, `${played.frames} frames`);
  });
}

const DASH_PLAYERS = {
  "shaka-player": {
    // Switches to the ladder, which has different segment boundaries, and back.
    steps: [
      ["source", 320],
      ["90p", 160],
      ["source", 320],
    ],
    script: "shaka-player/dist/shaka-player.compiled.js",
    page: `async function load(url) {
      shaka.polyfill.installAll();
      const player = (window.player = new shaka.Player());
      player.addEventListener("error", (event) => problems.push("shaka " + event.detail.code));
      player.configure({ abr: { enabled: false } });
      await player.attach(video);
      await player.load(url);
    }
    const offered = () => [...new Set(player.getVariantTracks().map(({ originalVideoId }) => originalVideoId))];
    const choose = (id) => player.selectVariantTrack(player.getVariantTracks().find(({ originalVideoId }) => originalVideoId === id), true);`,
  },
  "dash.js": {
    steps: [["source", 320]],
    script: "dashjs/dist/modern/umd/dash.all.debug.js",
    page: `async function load(url) {
      const player = (window.player = dashjs.MediaPlayer().create());
      player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE }, streaming: { abr: { autoSwitchBitrate: { video: false } } } });
      player.on("error", (event) => problems.push("dash.js " + JSON.stringify(event.error?.message ?? event)));
      const ready = new Promise((resolve) => player.on("streamInitialized", resolve));
      player.initialize(video, url, false);
      await ready;
    }
    const offered = () => player.getRepresentationsByType("video").map(({ id }) => id);
    const choose = (id) => player.setRepresentationForTypeById("video", id, true);`,
  },
} as const;

const DASH_PAGE = `<!doctype html><video muted></video><script src="/player.js"></script><script>
  const video = document.querySelector("video");
  const problems = [];
  const until = async (what, met) => {
    for (const began = Date.now(); !met(); ) {
      if (Date.now() - began > 50000) throw new Error("timed out waiting for " + what + " at " + video.currentTime + " s, " + JSON.stringify(problems));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  async function play(url, steps) {
    await load(url);
    const widths = [];
    // Slow playback gives a busy machine enough time.
    video.playbackRate = 0.2;
    await video.play();
    for (const [id, width] of steps) {
      choose(id);
      const begun = video.currentTime;
      await until(id, () => video.videoWidth === width && video.currentTime > begun + 0.1);
      widths.push(video.videoWidth);
    }
    video.playbackRate = 2;
    await until("the end", () => video.ended);
    return { problems, widths, offered: offered(), at: video.currentTime, corrupted: video.getVideoPlaybackQuality().corruptedVideoFrames };
  }
`;

for (const [name, { script, steps, page: code }] of Object.entries(DASH_PLAYERS)) {
  test(
    `${name} plays the source in DASH, in the order ${steps.map(([id]) => id).join(", ")}`,
    { skip: needsFfmpeg.skip || withoutChromium(), timeout: 110_000 },
    async (t) => {
      const ends: (() => Promise<void>)[] = [];
      t.after(async () => {
        for (const end of ends.toReversed()) await end();
      });
      const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
      const objects = await emptyObjects(scope);
      // Key frames every 5 s; ladder segments last 4.004 s.
      await objects.put("stream/x/source", await readFile(await clip({ ...RECIPE, keyframeSeconds: 5 })));
      const plain = ntscModel({ editLists: true });
      const model = {
        ...plain,
        video: { ...plain.video!, passthrough: true },
        audio: { ...plain.audio!, passthrough: true },
      };
      const { origin } = await serveVideo(scope, {
        tracks: { source: createSourcePassthrough({ objects, log: silentLog, enabled: true }) },
        video: { sourceKey: "stream/x/source" },
        model,
      });
      const browser = await openBrowser(scope);
      const site = await openSite(scope, {
        "/": { type: "text/html", body: `${DASH_PAGE}${code}</script>` },
        "/player.js": { type: "text/javascript", file: clientFile(script) },
      });
      const { page, problems } = await openPage(browser, site);
      const played = (await page.evaluate(
        `play(${JSON.stringify(`${origin}/0123456789abcdef0123456789abcdef/manifest/video.mpd`)}, ${JSON.stringify(steps)})`,
      )) as { problems: string[]; widths: number[]; offered: string[]; at: number; corrupted: number };
      assert.deepEqual([played.problems, problems, played.corrupted], [[], [], 0]);
      assert.deepEqual(played.offered.toSorted(), ["180p", "90p", "source"]);
      assert.deepEqual(
        played.widths,
        steps.map(([, width]) => width),
      );
      assert.ok(Math.abs(played.at - 10.01) < 0.1, `playback ended at ${played.at}`);
    },
  );
}
