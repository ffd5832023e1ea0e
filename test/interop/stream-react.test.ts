// The real @cloudflare/stream-react in a real page. It only knows the hosted service; one line added to the page makes
// it play from this server.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { someVideo, startStaticDelivery, type StaticDelivery, until } from "../../src/stream/player/player.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { needsFfmpeg } from "../support/media.ts";
import { bundleReactApp, reactPages } from "./react-page.ts";

const UID = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";
const missing =
  !existsSync(clientFile("@cloudflare/stream-react")) &&
  process.env["REQUIRE_ALL"] !== "1" &&
  "the clients of the tests are not installed";

describe("@cloudflare/stream-react", { skip: withoutChromium() || needsFfmpeg.skip || missing }, () => {
  let delivery: StaticDelivery;
  let browser: Browser;
  let bundle: string;
  const ends: (() => Promise<void>)[] = [];
  const scope = { after: (end: () => Promise<void>) => void ends.unshift(end) };

  before(async () => {
    delivery = await startStaticDelivery();
    ends.push(delivery.close);
    delivery.videos.set(UID, someVideo());
    delivery.videos.set(OTHER, someVideo({ uid: OTHER, duration: 12, input: { width: 640, height: 480 } }));
    bundle = await bundleReactApp();
    browser = await openBrowser(scope);
  });
  after(async () => {
    for (const end of ends) await end();
  });

  async function open(props: object): Promise<{ page: Page; problems: string[]; elsewhere: string[] }> {
    const site = await openSite(scope, reactPages(bundle, `${delivery.origin}/embed/local.js`, props));
    const opened = await openPage(browser);
    const elsewhere: string[] = [];
    opened.page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith("http://127.0.0.1:"))
        elsewhere.push(request.url());
    });
    await opened.page.goto(site);
    return { ...opened, elsewhere };
  }

  const received = (page: Page, event: string) => until(page, `received.includes(${JSON.stringify(event)})`);
  const current = (page: Page, expression: string) => page.evaluate(`streamRef.current.${expression}`);

  test("plays, seeks and fires every event, and its element takes the aspect ratio of the video", async () => {
    const { page, problems, elsewhere } = await open({
      src: UID,
      controls: true,
      muted: true,
      autoplay: true,
      customerCode: "m033z5x00ks6nunl",
    });
    await received(page, "Playing");
    assert.equal(page.frames()[1]!.url(), `${delivery.origin}/${UID}/iframe?muted=true&preload=metadata&autoplay=true`);
    await until(page, "document.querySelector('iframe').getBoundingClientRect().height === 360");
    for (const event of [
      "LoadStart",
      "LoadedMetaData",
      "DurationChange",
      "LoadedData",
      "CanPlay",
      "Play",
      "TimeUpdate",
      "Progress",
    ])
      await received(page, event);
    await page.evaluate("setProps({ currentTime: 10 })");
    for (const event of ["Seeking", "Seeked"]) await received(page, event);
    await received(page, "Ended");
    assert.equal(await current(page, "ended"), true);
    assert.deepEqual(problems, []);
    assert.deepEqual(elsewhere, []);
  });

  test("passes changed props to the player", async () => {
    const { page } = await open({ src: UID, controls: true, muted: true });
    await received(page, "LoadedMetaData");
    await page.evaluate(
      "setProps({ volume: 0.25, playbackRate: 2, loop: true, controls: false, primaryColor: 'tomato' })",
    );
    for (const event of ["VolumeChange", "RateChange"]) await received(page, event);
    const frame = page.frames()[1]!;
    await until(frame, 'document.documentElement.style.getPropertyValue("--accent") === "tomato"');
    assert.deepEqual(
      await frame.evaluate(
        '(({ volume, playbackRate, loop }) => ({ volume, playbackRate, loop }))(document.querySelector("video"))',
      ),
      { volume: 0.25, playbackRate: 2, loop: true },
    );
    await page.evaluate("setProps({ muted: false })");
    await until(frame, '!document.querySelector("video").muted');
    await page.evaluate(`streamRef.current.play().then(() => window.playing = true)`);
    await until(page, "window.playing");
    await page.evaluate("streamRef.current.pause()");
    await received(page, "Pause");
    const requested = page.waitForRequest(`${delivery.origin}/${OTHER}/manifest/video.m3u8`);
    await page.evaluate(`setProps({ src: ${JSON.stringify(OTHER)} })`);
    await requested;
    assert.equal(await current(page, "src"), OTHER);
  });

  test("accepts a URL without a customer code, and a complete URL", async () => {
    const { page: short } = await open({ src: UID });
    await received(short, "LoadedMetaData");
    assert.equal(new URL(short.frames()[1]!.url()).pathname, `/${UID}/iframe`);
    const { page: whole, elsewhere } = await open({
      src: `https://customer-m033z5x00ks6nunl.cloudflarestream.com/${UID}/iframe?preload=metadata`,
    });
    await received(whole, "LoadedMetaData");
    assert.deepEqual(elsewhere, []);
  });
});
