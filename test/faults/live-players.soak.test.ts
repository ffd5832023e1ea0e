import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { checkLowLatencyHls } from "../support/hls/checker.ts";
import { clip, needsFfmpeg, X264 } from "../support/media.ts";
import { push, rtmp } from "./live/publishers.ts";
import { startLiveServer } from "./live/server.ts";

const MINUTES = Number(process.env["REELPOST_PLAYERS_MINUTES"] ?? 10);

/** Player errors that are recoverable on a busy machine or after a seek: buffer stalls, gaps and aborted requests. */
const RECOVERED = "/^(aborted|buffer(StalledError|SeekOverHole|NudgeOnStall))$/";
const PLAYERS = {
  "hls.js": {
    script: "hls.js/dist/hls.js",
    load: `const hls = new Hls({ enableWorker: false, lowLatencyMode: true });
      hls.on(Hls.Events.ERROR, (_name, data) => (${RECOVERED}.test(data.details) ? recovered++ : problems.push(data.type + " " + data.details + " " + (data.frag?.relurl ?? "") + " " + (data.error?.message ?? ""))));
      hls.loadSource(url);
      hls.attachMedia(video);`,
  },
  "shaka-player": {
    script: "shaka-player/dist/shaka-player.compiled.js",
    load: `shaka.polyfill.installAll();
      const player = new shaka.Player();
      player.addEventListener("error", (event) => problems.push("shaka " + event.detail.code + " " + event.detail.message));
      await player.attach(video);
      await player.load(url);`,
  },
};

test(
  `hls.js, Shaka and a playlist checker find no errors in ${MINUTES} minutes of low-latency HLS`,
  { skip: needsFfmpeg.skip || withoutChromium(), timeout: (MINUTES + 4) * 60_000 },
  async (t) => {
    const server = await startLiveServer(t);
    const input = await server.input("watched");
    push(
      t,
      await clip({
        seconds: MINUTES * 60 + 60,
        fps: "25",
        keyframeSeconds: 2,
        size: "480x270",
        video: [...X264, "-bf", "2"],
      }),
      rtmp(input),
    );
    await server.onAir(input);
    const manifest = `${input.playback.hls}?protocol=llhls`;
    const site = await openSite(
      t,
      Object.fromEntries(
        Object.entries(PLAYERS).flatMap(([name, { script, load }]) => [
          [
            `/${name}`,
            {
              type: "text/html",
              body: `<!doctype html><video muted></video><script src="/${name}.js"></script><script>const problems = []; let recovered = 0; const video = document.querySelector("video"); async function begin(url) { ${load} await video.play(); }</script>`,
            },
          ],
          [`/${name}.js`, { type: "text/javascript", file: clientFile(script) }],
        ]),
      ),
    );
    const browser = await openBrowser(t);
    const pages = await Promise.all(
      Object.keys(PLAYERS).map(async (name) => {
        const opened = await openPage(browser, `${site}/${name}`);
        await opened.page.evaluate(`begin(${JSON.stringify(manifest)})`);
        return { name, ...opened };
      }),
    );
    const over = new AbortController();
    const checking = checkLowLatencyHls(manifest, over.signal);
    await sleep(MINUTES * 60_000);
    over.abort();
    const { findings, variants, ...counts } = await checking;
    const played = await Promise.all(
      pages.map(async ({ name, page, problems }) => ({
        name,
        problems: [...problems, ...((await page.evaluate("problems")) as string[])],
        recovered: await page.evaluate("recovered"),
        seconds: (await page.evaluate("video.currentTime")) as number,
      })),
    );
    t.diagnostic(JSON.stringify({ ...counts, variants, played }));
    assert.deepEqual(findings, []);
    for (const { name, problems, seconds } of played) {
      assert.deepEqual(problems, [], name);
      assert.ok(seconds > MINUTES * 60 * 0.9, `${name} played ${seconds} s`);
    }
  },
);
