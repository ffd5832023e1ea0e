import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { silentLog } from "../../src/kernel/index.ts";
import { muxFile } from "../../src/stream/downloads/mux.ts";
import { chooseRenditions } from "../../src/stream/downloads/rendition-source.ts";
import { createPassthrough } from "../../src/stream/passthrough/passthrough.ts";
import { createPlayback } from "../../src/stream/playback/playback.ts";
import { serveDelivery } from "../../src/stream/playback/playback.testing.ts";
import type { SourceRung } from "../../src/stream/playback/port.ts";
import { openProcessing } from "../../src/stream/processing/processing.testing.ts";
import type { Video } from "../../src/stream/videos/video.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { FLASH_SECONDS, flashClip, FLASHES, measureFlashes, type Measured } from "../support/flashes.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

const TOLERANCE_SECONDS = 0.01;

function assertInSync({ first, flashes, tones }: Measured, what: string, expected = FLASHES) {
  assert.ok(
    Math.abs(first.video - first.audio) <= TOLERANCE_SECONDS,
    `${what}: video begins at ${first.video} s, audio at ${first.audio} s`,
  );
  for (const [kind, times] of [
    ["flash", flashes],
    ["tone", tones],
  ] as const) {
    assert.equal(times.length, expected.length, `${what}: ${kind} at ${times.join(", ")}`);
    for (const [i, time] of times.entries())
      assert.ok(Math.abs(time - expected[i]!) <= TOLERANCE_SECONDS, `${what}: ${kind} at ${times.join(", ")}`);
  }
}

/** Times just before and after each edge of the first flashes, in seconds, and whether the frame is white at that time. */
const MOMENTS = FLASHES.slice(0, 3).flatMap((at) => [
  { at: at - TOLERANCE_SECONDS, white: false },
  { at: at + TOLERANCE_SECONDS, white: true },
  { at: at + FLASH_SECONDS - TOLERANCE_SECONDS, white: true },
  { at: at + FLASH_SECONDS + TOLERANCE_SECONDS, white: false },
]);

/** Page scripts that define `load(video, url)`. */
const PLAYERS: Record<string, { manifest: string; script?: string; page: string }> = {
  "hls.js": {
    manifest: "video.m3u8",
    script: "hls.js/dist/hls.js",
    page: `async function load(video, url) {
      const hls = new Hls({ enableWorker: false });
      hls.loadSource(url);
      hls.attachMedia(video);
    }`,
  },
  "shaka-hls": { manifest: "video.m3u8", script: "shaka-player/dist/shaka-player.compiled.js", page: shaka() },
  "shaka-dash": { manifest: "video.mpd", script: "shaka-player/dist/shaka-player.compiled.js", page: shaka() },
  "dash.js": {
    manifest: "video.mpd",
    script: "dashjs/dist/modern/umd/dash.all.debug.js",
    page: `async function load(video, url) {
      const player = dashjs.MediaPlayer().create();
      player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
      player.initialize(video, url, false);
    }`,
  },
  chromium: { manifest: "video.m3u8", page: "async function load(video, url) { video.src = url; }" },
};

function shaka() {
  return `async function load(video, url) {
    shaka.polyfill.installAll();
    const player = new shaka.Player();
    await player.attach(video);
    await player.load(url);
  }`;
}

/** Records audio data appended to MSE and decodes it again to find the tones. */
const COMMON = `
  const video = document.querySelector("video");
  const audio = { chunks: [], buffer: undefined };
  const add = MediaSource.prototype.addSourceBuffer;
  MediaSource.prototype.addSourceBuffer = function (type) {
    const buffer = add.call(this, type);
    if (!type.startsWith("audio/")) return buffer;
    audio.buffer = buffer;
    const append = buffer.appendBuffer;
    buffer.appendBuffer = function (data) {
      audio.chunks.push(new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength).slice());
      return append.call(this, data);
    };
    return buffer;
  };
  const once = (name) => new Promise((resolve) => video.addEventListener(name, resolve, { once: true }));
  const canvas = new OffscreenCanvas(16, 9);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  function isWhite() {
    context.drawImage(video, 0, 0, 16, 9);
    const { data } = context.getImageData(0, 0, 16, 9);
    return data.filter((_, i) => i % 4 < 3).reduce((sum, value) => sum + value, 0) / (16 * 9 * 3) > 150;
  }
  async function measure(url, moments) {
    video.crossOrigin = "anonymous";
    const ready = once("canplay");
    await load(video, url);
    await ready;
    const shown = [];
    for (const { at } of moments) {
      const seeked = once("seeked");
      const frame = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
      video.currentTime = at;
      await seeked;
      await frame;
      shown.push(isWhite());
    }
    if (audio.buffer === undefined) return { shown };
    const { length } = audio.chunks;
    const bytes = await new Blob(firstRun(audio.chunks)).arrayBuffer();
    const decoded = await new OfflineAudioContext(1, 48000, 48000).decodeAudioData(bytes);
    const samples = decoded.getChannelData(0);
    const tones = [];
    let loud = -Infinity;
    for (let i = 0; i < samples.length; i++) {
      if (Math.abs(samples[i]) < 0.2) continue;
      if (i - loud > 24000) tones.push(audio.buffer.buffered.start(0) + i / 48000);
      loud = i;
    }
    return { shown, audio: { start: audio.buffer.buffered.start(0), offset: audio.buffer.timestampOffset, tones } };
  }
  /** One initialisation segment, and the first media segment after it. */
  function firstRun(chunks) {
    const isInit = (chunk) => String.fromCharCode(...chunk.subarray(4, 8)) === "ftyp";
    const init = chunks.findIndex(isInit);
    return [chunks[init], chunks.slice(init + 1).find((chunk) => !isInit(chunk))];
  }
`;

describe("audio and video are in sync", { skip: needsFfmpeg.skip || withoutChromium(), timeout: 300_000 }, () => {
  const scope = suiteScope();
  let world: Awaited<ReturnType<typeof openProcessing>>;
  let source: SourceRung;
  let whole: Video;
  let part: Video;
  let origin: string;
  let site: string;
  let browser: Browser;

  before(async () => {
    world = await openProcessing(scope);
    source = createPassthrough({ objects: world.objects, log: silentLog, enabled: true });
    const path = await clip(flashClip);
    const uids = [await world.upload(path), await world.upload(path, { clip: { start: 2, end: 8 } })];
    [whole, part] = (await Promise.all(
      uids.map((uid) => world.until(uid, ({ state }) => state === "ready" || state === "error")),
    )) as [Video, Video];
    origin = await serveDelivery(scope, {
      videos: [whole, part],
      routes: createPlayback({ segments: world.segments, source }),
    });
    browser = await openBrowser(scope, ["--enable-features=BuiltinHlsPlayer,HlsPlayer"]);
    site = await openSite(
      scope,
      Object.fromEntries(
        Object.entries(PLAYERS).flatMap(([name, { script, page }]) => [
          [
            `/${name}`,
            {
              type: "text/html",
              body: `<!doctype html><video muted></video>${script === undefined ? "" : `<script src="/${name}/player"></script>`}<script>${COMMON}\n${page}</script>`,
            },
          ],
          ...(script === undefined
            ? []
            : [[`/${name}/player`, { type: "text/javascript", file: clientFile(script) }] as const]),
        ]),
      ),
    );
  });

  for (const manifest of ["video.m3u8", "video.mpd"]) {
    test(`libavformat presents audio and video of every rendition of ${manifest} in sync`, async () => {
      const renditions = whole.model!.ladder.length + 1;
      for (let stream = 0; stream < renditions; stream++) {
        assertInSync(
          await measureFlashes(`${origin}/${whole.uid}/manifest/${manifest}`, stream),
          `video stream ${stream} of ${manifest}`,
        );
      }
    });
  }

  test("libavformat presents audio and video of a clip in sync", async () => {
    assertInSync(await measureFlashes(`${origin}/${part.uid}/manifest/video.m3u8`), "a clip", [1, 3, 5]);
  });

  for (const [what, of] of [
    ["the source", () => source],
    ["an encoded rendition", () => undefined],
  ] as const) {
    test(`a download of ${what} has audio and video in sync`, async () => {
      const { signal } = new AbortController();
      const renditions = await chooseRenditions(whole, whole.model!, "default", {
        segments: world.segments,
        source: of(),
      });
      const file = await muxFile({
        renditions,
        kind: "isom",
        signal,
        open: async (rendition, segment) => (await rendition.open(segment, signal))!,
      });
      const path = join(world.folder, `${what.replaceAll(" ", "-")}.mp4`);
      await pipeline(Readable.from(file.body()), createWriteStream(path));
      const measured = await measureFlashes(path);
      assertInSync(measured, what);
    });
  }

  for (const [name, { manifest }] of Object.entries(PLAYERS)) {
    test(`${name} presents frames and buffers audio at the expected times`, { timeout: 110_000 }, async () => {
      const { page, problems } = await openPage(browser, `${site}/${name}`);
      const { shown, audio } = (await page.evaluate(
        `measure(${JSON.stringify(`${origin}/${whole.uid}/manifest/${manifest}`)}, ${JSON.stringify(MOMENTS)})`,
      )) as { shown: boolean[]; audio?: { start: number; offset: number; tones: number[] } };
      await page.context().close();
      assert.deepEqual(problems, []);
      assert.deepEqual(
        Object.fromEntries(MOMENTS.map(({ at }, i) => [at.toFixed(3), shown[i]])),
        Object.fromEntries(MOMENTS.map(({ at, white }) => [at.toFixed(3), white])),
      );
      if (audio === undefined) return;
      assert.ok(
        Math.abs(audio.start) <= TOLERANCE_SECONDS && Math.abs(audio.offset) <= TOLERANCE_SECONDS,
        JSON.stringify(audio),
      );
      for (const [i, tone] of audio.tones.entries())
        assert.ok(Math.abs(tone - FLASHES[i]!) <= TOLERANCE_SECONDS, JSON.stringify(audio));
      assert.ok(audio.tones.length > 0);
    });
  }
});
