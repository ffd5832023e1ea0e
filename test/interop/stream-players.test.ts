import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { segmentKey } from "../../src/stream/encode/port.ts";
import { serveVideo, UID } from "../../src/stream/playback/playback.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { needsFfmpeg } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

/**
 * Players on a page of a different site. Each defines `load(video, url)`, and optionally `finish()`, which reports
 * additional results.
 */
const PLAYERS = {
  "hls.js": {
    manifest: "video.m3u8",
    script: "hls.js/dist/hls.js",
    page: `async function load(video, url) {
      const hls = (window.hls = new Hls({ enableWorker: false, subtitleDisplay: true }));
      hls.on(Hls.Events.ERROR, (_name, data) => /^(aborted|buffer(StalledError|NudgeOnStall))$/.test(data.details) || problem(data.type + " " + data.details + " " + (data.error?.message ?? data.response?.code ?? "")));
      const parsed = new Promise((resolve) => hls.once(Hls.Events.MANIFEST_PARSED, resolve));
      hls.loadSource(url);
      hls.attachMedia(video);
      await parsed;
    }
    const audioTracks = () => hls.audioTracks.map((track) => track.name);
    function chooseAudio(n) { hls.audioTrack = n; }
    function showText() { hls.subtitleTrack = 0; }
    const textTracks = () => hls.subtitleTracks.map((track) => track.lang);`,
  },
  "shaka-player": {
    manifest: "video.mpd",
    script: "shaka-player/dist/shaka-player.compiled.js",
    page: `async function load(video, url) {
      shaka.polyfill.installAll();
      const player = (window.player = new shaka.Player());
      player.addEventListener("error", (event) => problem("shaka " + event.detail.code + " " + event.detail.message));
      await player.attach(video);
      await player.load(url);
    }
    const audioTracks = () => player.getAudioTracks().map((track) => track.label);
    function chooseAudio(n) { player.selectAudioTrack(player.getAudioTracks()[n]); }
    function showText() { player.selectTextTrack(player.getTextTracks()[0]); }
    const textTracks = () => player.getTextTracks().map((track) => track.language);`,
  },
  "dash.js": {
    manifest: "video.mpd",
    script: "dashjs/dist/modern/umd/dash.all.debug.js",
    page: `async function load(video, url) {
      const player = (window.player = dashjs.MediaPlayer().create());
      player.updateSettings({ debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE } });
      player.on("error", (event) => problem("dash.js " + JSON.stringify(event.error?.message ?? event)));
      const ready = new Promise((resolve) => player.on("streamInitialized", resolve));
      player.initialize(video, url, false);
      await ready;
    }
    const audioTracks = () => player.getTracksFor("audio").map((track) => track.labels[0]?.text);
    function chooseAudio(n) { player.setCurrentTrack(player.getTracksFor("audio")[n]); }
    function showText() { player.setTextTrack(0); }
    const textTracks = () => player.getTracksFor("text").map((track) => track.lang);`,
  },
} as const;

const COMMON = `
  const problems = [];
  const problem = (text) => problems.push(text);
  const video = document.querySelector("video");
  const once = (name) => new Promise((resolve) => video.addEventListener(name, resolve, { once: true }));
  const until = async (what, met) => {
    for (const began = Date.now(); !met(); ) {
      if (Date.now() - began > 50000) throw new Error("timed out waiting for " + what + " at " + video.currentTime + " s, " + JSON.stringify(problems));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  async function play(url) {
    await load(video, url);
    await video.play();
    await until("playing", () => video.currentTime > 0.5);
    showText();
    await until("captions", () => [...video.textTracks].some((track) => (track.cues?.length ?? 0) > 0) || document.querySelector(".shaka-text-container") !== null);
    // From the first segment into the last, and back into the second.
    for (const to of [8.6, 4.2]) {
      video.currentTime = to;
      await once("seeked");
      await until("playing from " + to, () => !video.seeking && video.currentTime > to + 0.3);
    }
    chooseAudio(1);
    const received = video.webkitAudioDecodedByteCount;
    await until("the other audio", () => video.webkitAudioDecodedByteCount > received);
    video.playbackRate = 2;
    await until("the end", () => video.ended);
    const { totalVideoFrames } = video.getVideoPlaybackQuality();
    return { problems, at: video.currentTime, duration: video.duration, width: video.videoWidth, frames: totalVideoFrames, audio: audioTracks(), text: textTracks() };
  }`;

interface Played {
  problems: string[];
  at: number;
  duration: number;
  width: number;
  frames: number;
  audio: string[];
  text: string[];
}

const ADDED = "c".repeat(32);
const CAPTIONS = "WEBVTT\n\n00:00:00.000 --> 00:00:09.000\nGuten Tag\n";

describe("third-party players in Chromium on a different site", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  let browser: Browser;
  let origin: string;
  let site: string;

  const scope = suiteScope();

  before(async () => {
    browser = await openBrowser(scope);
    const served = await serveVideo(scope, {
      tracks: {
        captions: {
          of: async () => [{ language: "de", label: "Deutsch", generated: false }],
          vtt: async () => CAPTIONS,
        },
        audio: { of: async () => [{ uid: ADDED, label: "Director", default: false }] },
      },
    });
    origin = served.origin;
    for (const segment of ["init", 0, 1, 2] as const)
      await served.objects.copy(segmentKey(UID, "audio", segment), segmentKey(UID, `audio-${ADDED}`, segment));
    site = await openSite(
      scope,
      Object.fromEntries(
        Object.entries(PLAYERS).flatMap(([name, { script, page }]) => [
          [
            `/${name}`,
            {
              type: "text/html",
              body: `<!doctype html><video></video><script src="/${name}/player"></script><script>${COMMON}\n${page}</script>`,
            },
          ],
          [`/${name}/player`, { type: "text/javascript", file: clientFile(script) }],
        ]),
      ),
    );
  });

  for (const [name, { manifest }] of Object.entries(PLAYERS)) {
    test(`${name} plays to the end, with seeks, captions and a second audio track`, { timeout: 110_000 }, async () => {
      const { page, problems } = await openPage(browser, `${site}/${name}`);
      const played = (await page.evaluate(
        `play(${JSON.stringify(`${origin}/${UID}/manifest/${manifest}`)})`,
      )) as Played;
      await page.context().close();
      assert.deepEqual(played.problems, []);
      assert.deepEqual(problems, []);
      assert.ok(Math.abs(played.duration - 10.01) < 0.05, `a duration of ${played.duration} s`);
      assert.ok(played.at > 9.9, `at ${played.at} s`);
      assert.equal(played.width, 320, "the best rendition");
      assert.ok(played.frames > 150);
      assert.deepEqual(played.audio, ["Original", "Director"]);
      assert.deepEqual(played.text, ["de"]);
    });
  }
});
