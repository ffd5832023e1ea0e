import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../../../../test/support/browser.ts";
import { needsFfmpeg } from "../../../../test/support/media.ts";
import { suiteScope } from "../../../../test/support/suite-scope.ts";
import type { RunSink } from "../fragments.ts";
import { runOf } from "./package.testing.ts";
import { liveWorld, realFragments, VIDEO } from "./playback.testing.ts";

/** Scripts for a page on another origin. Each defines `load(video, url)`. */
const PLAYERS = {
  "hls.js": {
    script: "hls.js/dist/hls.js",
    page: `async function load(video, url) {
      const hls = (window.hls = new Hls({ enableWorker: false, lowLatencyMode: true }));
      // Not failures: a seek cancels pending requests; between two runs there is nothing to play; and hls.js gives a
      // blocking playlist reload only 0.8 s (80 % of the target duration), which a busy machine can miss. It retries.
      const recovered = /^(aborted|buffer(StalledError|SeekOverHole|NudgeOnStall)|(level|audioTrack)LoadTimeOut)$/;
      hls.on(Hls.Events.ERROR, (_name, data) => {
        if (data.fatal || !recovered.test(data.details))
          problem(data.type + " " + data.details + " " + (data.error?.message ?? data.response?.code ?? ""));
      });
      hls.loadSource(url);
      hls.attachMedia(video);
    }`,
  },
  "shaka-player": {
    script: "shaka-player/dist/shaka-player.compiled.js",
    page: `async function load(video, url) {
      shaka.polyfill.installAll();
      const player = (window.player = new shaka.Player());
      player.addEventListener("error", (event) => problem("shaka " + event.detail.code + " " + event.detail.message));
      await player.attach(video);
      await player.load(url);
    }`,
  },
  "dash.js": {
    script: "dashjs/dist/modern/umd/dash.all.debug.js",
    page: `async function load(video, url) {
      const player = (window.player = dashjs.MediaPlayer().create());
      player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
      player.on("error", (event) => problem("dash.js " + JSON.stringify(event.error?.message ?? event)));
      player.initialize(video, url, true);
    }`,
  },
} as const;

const COMMON = `
  const problems = [];
  const problem = (text) => problems.push(text);
  const video = document.querySelector("video");
  var startedAt;
  video.addEventListener("playing", () => (startedAt ??= video.currentTime));
  async function begin(url) {
    await load(video, url);
    await new Promise((resolve) => { const look = () => (video.readyState >= 3 ? resolve() : setTimeout(look, 20)); look(); });
    await video.play();
  }`;

describe("a running broadcast", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  let browser: Browser;
  let site: string;
  let media: Awaited<ReturnType<typeof realFragments>>;

  const scope = suiteScope();

  before(async () => {
    browser = await openBrowser(scope);
    media = await realFragments({ seconds: 24 });
    const pages = Object.entries(PLAYERS).flatMap(
      ([name, { script, page }]) =>
        [
          [
            `/${name}`,
            {
              type: "text/html",
              body: `<!doctype html><video muted></video><script src="/${name}.js"></script><script>${COMMON}${page}</script>`,
            },
          ],
          [`/${name}.js`, { type: "text/javascript", file: clientFile(script) }],
        ] as const,
    );
    site = await openSite(scope, Object.fromEntries(pages));
  });

  /** Emits each fragment after its last frame, as an encoder does; the first `ahead` seconds immediately. */
  function feed(
    sink: RunSink,
    { ahead, until = Infinity }: { ahead: number; until?: number },
  ): { done: Promise<void>; stop(): void } {
    for (const [rendition, bytes] of Object.entries(media.inits)) sink.init(rendition, bytes);
    const began = performance.now() - ahead * 1000;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let next = 0;
    const timer = setInterval(() => {
      const now = (performance.now() - began) / 1000;
      for (; next < media.fragments.length; next++) {
        const fragment = media.fragments[next]!;
        if (fragment.time + fragment.duration > Math.min(now, until + 0.001)) break;
        sink.fragment(fragment);
      }
      if (now > until + 0.3 || next === media.fragments.length) stop();
    }, 10);
    const stop = () => {
      clearInterval(timer);
      sink.end();
      resolve();
    };
    return { done, stop };
  }

  const begin = (page: Page, url: string) =>
    page.evaluate((address) => (globalThis as unknown as { begin(url: string): Promise<void> }).begin(address), url);
  /** Waits for a condition on the page's `video`; a timeout reports the state of the element. */
  async function waitFor(page: Page, condition: string): Promise<void> {
    try {
      await page.waitForFunction(condition, undefined, { timeout: 60_000, polling: 50 });
    } catch (err) {
      const state = await page.evaluate<string>(
        `(() => {
          const { currentTime, readyState, paused, seeking, ended, error, buffered } = video;
          const ranges = Array.from({ length: buffered.length }, (_, i) => [buffered.start(i), buffered.end(i)]);
          return JSON.stringify({ currentTime, readyState, paused, seeking, ended, error, ranges, problems });
        })()`,
      );
      throw new Error(`${condition} did not become true: ${state}`, { cause: err });
    }
  }
  const played = (page: Page, seconds: number) => waitFor(page, `video.currentTime > ${seconds}`);

  test(
    "plays in hls.js at low latency, across a reconnection of the publisher, to the end",
    { timeout: 90_000 },
    async (t) => {
      const world = await liveWorld(t, { segmentSeconds: 1, partMs: 200 });
      const { page, problems } = await openPage(browser, `${site}/hls.js`);
      t.after(() => page.context().close());
      const started = Date.now() - 4000;
      const first = feed(world.broadcast.run(runOf(1, { started, renditions: media.renditions })), {
        ahead: 4,
        until: 6.4,
      });
      t.after(() => first.stop());
      await begin(page, `${world.origin}/${VIDEO}/manifest/video.m3u8?protocol=llhls`);
      await played(page, 4.8);
      const seen = await page.evaluate(() => {
        const { hls, startedAt } = globalThis as unknown as {
          startedAt: number;
          hls: {
            latency: number;
            levels: { details?: { canBlockReload: boolean; partHoldBack: number; partList?: unknown[] } }[];
            currentLevel: number;
          };
        };
        const { details } = hls.levels[hls.currentLevel]!;
        return {
          latency: hls.latency,
          holdBack: details!.partHoldBack,
          startedAt,
          blocking: details!.canBlockReload,
          parts: details!.partList!.length,
        };
      });
      t.diagnostic(JSON.stringify(seen));
      assert.equal(seen.blocking, true);
      assert.ok(seen.parts > 0);
      assert.ok(Math.abs(seen.holdBack - 0.63) < 0.001, `the hold-back is ${seen.holdBack} s`);
      // Four seconds were published before the player started; without parts it would start three seconds behind.
      assert.ok(seen.startedAt > 3, `playback started at ${seen.startedAt}`);

      await first.done;
      const second = feed(world.broadcast.run(runOf(2, { started: Date.now(), renditions: media.renditions })), {
        ahead: 0,
        until: 3.2,
      });
      t.after(() => second.stop());
      await second.done;
      world.broadcast.end();
      await waitFor(page, "video.ended");
      const end = await page.evaluate<number>("video.currentTime");
      assert.ok(Math.abs(end - 9.6) < 0.1, `playback ended at ${end}`);
      assert.deepEqual(await page.evaluate("problems"), []);
      assert.deepEqual(problems, []);
    },
  );

  for (const name of ["shaka-player", "dash.js"] as const) {
    test(`plays as DASH in ${name} in the same way`, { timeout: 90_000 }, async (t) => {
      const world = await liveWorld(t, { segmentSeconds: 1, partMs: 200 });
      const { page, problems } = await openPage(browser, `${site}/${name}`);
      t.after(() => page.context().close());
      const live = feed(world.broadcast.run(runOf(1, { started: Date.now() - 8000, renditions: media.renditions })), {
        ahead: 8,
      });
      t.after(() => live.stop());
      await begin(page, `${world.origin}/${VIDEO}/manifest/video.mpd`);
      await played(page, (await page.evaluate<number>("video.currentTime")) + 1);
      assert.deepEqual(await page.evaluate("problems"), []);
      assert.deepEqual(problems, []);
    });
  }

  test(
    "plays in all of them after it has ended, across a discontinuity and to the end of the recording",
    { timeout: 110_000 },
    async (t) => {
      const world = await liveWorld(t, { segmentSeconds: 1, partMs: 200 });
      for (const number of [1, 2])
        await feed(world.broadcast.run(runOf(number, { renditions: media.renditions })), { ahead: 100, until: 6.4 })
          .done;
      world.broadcast.end();
      for (const [name, manifest] of [
        ["hls.js", "video.m3u8"],
        ["shaka-player", "video.mpd"],
        ["dash.js", "video.mpd"],
      ] as const) {
        const { page, problems } = await openPage(browser, `${site}/${name}`);
        await begin(page, `${world.origin}/${VIDEO}/manifest/${manifest}`);
        await page.evaluate("void (video.currentTime = 6)");
        await played(page, 6.8);
        await page.evaluate("void (video.currentTime = 12)");
        await waitFor(page, "video.ended");
        const end = await page.evaluate<number>("video.currentTime");
        assert.ok(Math.abs(end - 12.8) < 0.1, `${name}: playback ended at ${end}`);
        assert.deepEqual(await page.evaluate("problems"), [], name);
        assert.deepEqual(problems, [], name);
        await page.context().close();
      }
    },
  );
});
