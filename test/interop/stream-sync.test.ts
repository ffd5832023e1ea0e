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
import { createSourcePassthrough } from "../../src/stream/passthrough/passthrough.ts";
import { createPlayback } from "../../src/stream/playback/playback.ts";
import { serveDelivery } from "../../src/stream/playback/playback.testing.ts";
import type { SourceRung } from "../../src/stream/playback/port.ts";
import { openProcessing } from "../../src/stream/processing/processing.testing.ts";
import type { Video } from "../../src/stream/videos/video.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { FLASH_SECONDS, flashClip, FLASHES, measureFlashes, type Measured } from "../support/flashes.ts";
import { clip, type ClipRecipe, needsFfmpeg, runFfmpeg } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

const TOLERANCE_SECONDS = 0.01;

/** One AAC frame, which libavformat presents before second zero and other players do not present at all. */
const PRIMING_SECONDS = 1024 / 48_000;

function assertInSync({ first, flashes, tones }: Measured, what: string, { expected = FLASHES, priming = 0 } = {}) {
  assert.ok(
    Math.abs(first.video - first.audio - priming) <= TOLERANCE_SECONDS,
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

/**
 * Times just before and after each edge of the first flashes, in seconds, and whether the frame is white at that time.
 */
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
  /** One initialization segment, and the first media segment after it. */
  function firstRun(chunks) {
    const isInit = (chunk) => String.fromCharCode(...chunk.subarray(4, 8)) === "ftyp";
    const init = chunks.findIndex(isInit);
    return [chunks[init], chunks.slice(init + 1).find((chunk) => !isInit(chunk))];
  }
`;

/** Tones of 2 ms, starting at 5 ms and at 1 s. */
const CLICKS = "0.7*sin(2*PI*1500*t)*(between(t\\,0.005\\,0.007)+between(t\\,1\\,1.002))";
const clickClip: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    "testsrc2=size=320x180:rate=30:duration=6",
    "-f",
    "lavfi",
    "-i",
    `aevalsrc='${CLICKS}':sample_rate=48000:duration=6`,
  ],
  audio: ["-c:a", "pcm_s16le"],
  extension: "mov",
};

/** Resolves with the first audio stream; sample n has timestamp n / 48,000 s. */
async function samplesOf(input: string): Promise<Float32Array> {
  const filter = "aresample=48000,aresample=async=1:min_comp=0.00001:min_hard_comp=0.01:first_pts=0";
  const args = `-map 0:a:0 -af ${filter} -ac 1 -f f32le pipe:1`.split(" ");
  const raw = await runFfmpeg(["-copyts", "-i", input, ...args]);
  return new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length - (raw.length % 4)));
}

/** Energy of [from, to) in milliseconds, and the time by which half of it has passed. */
function energyOf(samples: Float32Array, from: number, to: number): { energy: number; middle: number } {
  const part = samples.subarray(from * 48, to * 48);
  const energy = part.reduce((sum, one) => sum + one ** 2, 0);
  let sum = 0;
  return { energy, middle: from + part.findIndex((one) => (sum += one ** 2) >= energy / 2) / 48 };
}

describe("audio and video are in sync", { skip: needsFfmpeg.skip || withoutChromium(), timeout: 300_000 }, () => {
  const scope = suiteScope();
  let world: Awaited<ReturnType<typeof openProcessing>>;
  let source: SourceRung;
  let whole: Video;
  let part: Video;
  let clicks: Video;
  let origin: string;
  let site: string;
  let browser: Browser;

  before(async () => {
    world = await openProcessing(scope);
    source = createSourcePassthrough({ objects: world.objects, log: silentLog, enabled: true });
    const path = await clip(flashClip);
    const uids = [
      await world.upload(path),
      await world.upload(path, { clip: { start: 2, end: 8 } }),
      await world.upload(await clip(clickClip)),
    ];
    [whole, part, clicks] = (await Promise.all(
      uids.map((uid) => world.until(uid, ({ state }) => state === "ready" || state === "error")),
    )) as [Video, Video, Video];
    origin = await serveDelivery(scope, {
      videos: [whole, part, clicks],
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
    test(`libavformat presents audio and video in sync for every rendition of ${manifest}`, async () => {
      const renditions = whole.model!.ladder.length + 1;
      for (let stream = 0; stream < renditions; stream++) {
        assertInSync(
          await measureFlashes(`${origin}/${whole.uid}/manifest/${manifest}`, stream),
          `video stream ${stream} of ${manifest}`,
          { priming: PRIMING_SECONDS },
        );
      }
    });
  }

  for (const manifest of ["video.m3u8", "video.mpd"]) {
    test(`the audio of ${manifest} has a click at the right position in the first 10 ms`, async () => {
      const source = await samplesOf(await clip(clickClip));
      const made = await samplesOf(`${origin}/${clicks.uid}/manifest/${manifest}`);
      for (const [from, to] of [
        [0, 10],
        [990, 1020],
      ] as const) {
        const [found, expected] = [energyOf(made, from, to), energyOf(source, from, to)];
        assert.ok(found.energy > 0.8 * expected.energy, `${from} ms: energy ${found.energy} of ${expected.energy}`);
        assert.ok(Math.abs(found.middle - expected.middle) < 1, `click at ${found.middle}, not ${expected.middle} ms`);
      }
    });
  }

  test("libavformat presents audio and video of a clip in sync", async () => {
    assertInSync(await measureFlashes(`${origin}/${part.uid}/manifest/video.m3u8`), "a clip", {
      expected: [1, 3, 5],
      priming: PRIMING_SECONDS,
    });
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
