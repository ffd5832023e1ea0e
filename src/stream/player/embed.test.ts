import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Browser, Frame, Page } from "playwright-core";
import { openBrowser, openPage, openSite, withoutChromium } from "../../../test/support/browser.ts";
import { needsFfmpeg } from "../../../test/support/media.ts";
import { type StaticDelivery, someVideo, startStaticDelivery, until } from "./player.testing.ts";

const UID = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";
const GUARDED = "00112233445566778899aabbccddeeff";
const TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_";
const skip = withoutChromium() || needsFfmpeg.skip;

describe("a page that embeds the player", { skip }, () => {
  let delivery: StaticDelivery;
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];

  before(async () => {
    delivery = await startStaticDelivery();
    ends.push(delivery.close);
    delivery.videos.set(UID, someVideo());
    delivery.videos.set(OTHER, someVideo({ uid: OTHER, input: { width: 360, height: 640 } }));
    browser = await openBrowser({ after: (end) => void ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  // Pages that remain open keep playing, and slow down later tests.
  afterEach(async () => void (await Promise.all(browser.contexts().map((context) => context.close()))));

  /** Another site with the frame and the SDK. `late`: the SDK is loaded after the player. */
  async function open(
    query: string,
    { late = false } = {},
  ): Promise<{ page: Page; problems: string[]; requests: string[] }> {
    const use = `window.heard = []; window.player = Stream(document.querySelector("iframe"));
      const { dispatchEvent } = player; player.dispatchEvent = function (event) { heard.push(event.type); return dispatchEvent.call(this, event); };`;
    const frame = `<iframe src="${delivery.origin}/${UID}/iframe?${query}" width="640" height="360" allow="autoplay"></iframe>`;
    const sdk = `<script src="${delivery.origin}/embed/sdk.latest.js"></script>`;
    const body = `<!doctype html><link rel="icon" href="data:,">${frame}${sdk}<script>${late ? `onload = () => { ${use} }` : use}</script>`;
    const site = await openSite({ after: (end) => void ends.unshift(end) }, { "/": { type: "text/html", body } });
    const opened = await openPage(browser);
    const requests: string[] = [];
    opened.page.on("request", (request) => requests.push(request.url()));
    await opened.page.goto(site);
    return { ...opened, requests };
  }

  /** Waits until the browser replaces a blocked page in the frame with its own error page. */
  async function refused(frame: Frame, seen: () => string): Promise<void> {
    for (const deadline = Date.now() + 60_000; !frame.url().startsWith("chrome-error:"); await setTimeout(25))
      assert.ok(Date.now() < deadline, `${frame.url()} is still loaded: ${seen()}`);
  }
  const read = (page: Page, ...properties: string[]) =>
    page.evaluate(`${JSON.stringify(properties)}.map((name) => player[name])`);
  const heard = (page: Page, event: string) => until(page, `heard.includes(${JSON.stringify(event)})`);

  test("plays, pauses and seeks, and updates each property before the corresponding event", async () => {
    const { page, problems } = await open("muted=true");
    await until(page, "player.videoWidth === 640");
    assert.deepEqual(
      await read(page, "paused", "videoWidth", "videoHeight", "duration", "muted", "ended", "controls"),
      [true, 640, 360, 12, true, false, true],
    );
    await page.evaluate(`window.seen = [];
      player.addEventListener("seeked", () => seen.push(player.currentTime));
      player.addEventListener("pause", () => seen.push(player.paused));`);
    await page.evaluate("player.play()");
    assert.deepEqual(await read(page, "paused"), [false]);
    await until(page, "player.currentTime > 0.3");
    await page.evaluate("player.currentTime = 9");
    await heard(page, "seeked");
    await page.evaluate("player.pause()");
    await heard(page, "pause");
    const [at, paused] = (await page.evaluate("seen")) as [number, boolean];
    assert.ok(at >= 9 && at < 9.5, `${at}`);
    assert.equal(paused, true);
    const { buffered, played } = (await page.evaluate(`
      const copy = (ranges) => Array.from({ length: ranges.length }, (_, index) => [ranges.start(index), ranges.end(index)]);
      ({ buffered: copy(player.buffered), played: copy(player.played) })`)) as Record<
      "buffered" | "played",
      [number, number][]
    >;
    assert.ok(
      buffered.some(([start, end]) => start <= 9 && end > 11),
      JSON.stringify(buffered),
    );
    assert.equal(played.length, 2);
    assert.deepEqual(problems, []);
  });

  test("plays to the end, and starts again when looping", async () => {
    const { page } = await open("muted=true&startTime=0m10.5s&autoplay");
    await heard(page, "ended");
    assert.deepEqual(await read(page, "ended", "paused"), [true, true]);
    await page.evaluate("player.loop = true; player.currentTime = 11.5; player.play()");
    await until(page, "player.currentTime < 5 && !player.paused");
  });

  test("passes properties to the player, in any state", async () => {
    const { page } = await open("");
    await page.evaluate(
      `Object.assign(player, { volume: 0.3, playbackRate: 1.5, primaryColor: "rebeccapurple", letterboxColor: "transparent", controls: false, muted: true }); 0`,
    );
    await heard(page, "ratechange");
    const frame = page.frames()[1]!;
    await until(frame, 'document.querySelector("video").playbackRate === 1.5 && document.querySelector("video").muted');
    assert.deepEqual(
      await frame.evaluate(
        '[document.documentElement.style.getPropertyValue("--accent"), document.querySelector("video").volume, getComputedStyle(document.body).backgroundColor]',
      ),
      ["rebeccapurple", 0.3, "rgba(0, 0, 0, 0)"],
    );
    assert.equal(await frame.locator("media-control-bar").first().isVisible(), false);
    // Invalid values are ignored without an error.
    await page.evaluate(
      `Object.assign(player, { volume: "loud", currentTime: Number.NaN, primaryColor: "url(x)", src: "javascript:alert(1)" }); 0`,
    );
    await page.evaluate(`Object.assign(player, { controls: true }); 0`);
    await frame.locator("media-control-bar").first().waitFor({ state: "visible" });
    assert.equal(await frame.evaluate('document.querySelector("video").volume'), 0.3);
  });

  test("loads another video into the same iframe", async () => {
    const { page } = await open("muted=true");
    await until(page, "player.videoWidth === 640");
    await page.evaluate(`player.src = ${JSON.stringify(OTHER)}`);
    await until(page, "player.videoWidth === 360");
    assert.equal(new URL(page.frames()[1]!.url()).pathname, `/${UID}/iframe`);
    await page.evaluate("player.play()");
    assert.ok(delivery.requests.some(({ request }) => request.url === `/${OTHER}/manifest/video.m3u8`));
  });

  for (const [way, query, set] of [
    ["its query parameter", `muted=true&autoplay&src=${GUARDED}`, ""],
    ["its src property", "muted=true", `player.src = "${GUARDED}"; player.play().catch(() => {})`],
    ["a token", "muted=true", `player.src = "https://elsewhere.example/${TOKEN}/iframe"`],
  ] as const) {
    test(`does not show a video restricted to other sites that replaces an allowed video by ${way}`, async () => {
      const id = way === "a token" ? TOKEN : GUARDED;
      delivery.videos.set(
        id,
        someVideo({ uid: GUARDED, requireSignedURLs: id === TOKEN, allowedOrigins: ["good.example"] }),
      );
      delivery.requests.length = 0;
      const { page } = await open(query);
      const requested = () =>
        delivery.requests
          .map(({ request }) => request.url!.split("?", 1)[0]!)
          .filter((path) => path.startsWith(`/${id}/`));
      const frame = page.frames()[1]!;
      if (set !== "") await until(page, "player.videoWidth === 640");
      await page.evaluate(`${set}; 0`);
      await refused(frame, () => `asked for ${requested().join()}`);
      assert.deepEqual(requested(), [`/${id}/metadata/player.json`, `/${id}/iframe`]);
    });
  }

  test("does not show the poster of a video restricted to other sites, or the video as an advertisement, but allows both for public videos", async () => {
    delivery.videos.set(GUARDED, someVideo({ uid: GUARDED, allowedOrigins: ["good.example"] }));
    for (const [id, shown] of [
      [GUARDED, false],
      [OTHER, true],
    ] as const) {
      delivery.overrides.set("own.xml", {
        status: 200,
        type: "text/xml",
        body: `<VAST version="3.0"><Ad><InLine><Creatives><Creative><Linear><Duration>00:00:01</Duration><MediaFiles><MediaFile type="video/mp4" width="640" height="360">/${id}/downloads/default.mp4</MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>`,
      });
      delivery.requests.length = 0;
      const { page } = await open(
        `muted=true&poster=${encodeURIComponent(`${delivery.origin}/${id}/thumbnails/thumbnail.jpg`)}&ad-url=${encodeURIComponent(`${delivery.origin}/${UID}/own.xml`)}`,
      );
      const requested = () =>
        delivery.requests
          .map(({ request }) => request.url!)
          .filter((url) => url.startsWith(`/${id}/`) && !url.endsWith("player.json"))
          .sort();
      await page.evaluate("player.play()");
      await until(page, "player.currentTime > 0.3");
      const files = [`/${id}/downloads/default.mp4`, `/${id}/thumbnails/thumbnail.jpg`];
      const expected = shown ? files : [];
      for (const deadline = Date.now() + 60_000; new Set(requested()).size < expected.length; await setTimeout(25))
        assert.ok(Date.now() < deadline, `asked for ${requested().join()}`);
      assert.deepEqual([...new Set(requested())], expected);
    }
  });

  test("waits for a video or live broadcast, and plays it only if its allowed origins include the page when it starts", async () => {
    const input = "9".repeat(32);
    const waits = someVideo({
      uid: input,
      liveInput: input,
      state: "pendingupload",
      readyToStream: false,
      duration: -1,
      input: { width: -1, height: -1 },
    });
    delivery.videos.set(input, waits);
    const { page } = await open(`muted=true&autoplay&preload=auto&src=${input}`);
    const frame = page.frames()[1]!;
    await frame.getByText("The broadcast has not started yet").waitFor();
    delivery.requests.length = 0;
    delivery.videos.set(
      input,
      someVideo({ liveInput: input, state: "live-inprogress", allowedOrigins: ["good.example"] }),
    );
    await refused(frame, () => "has begun");
    assert.deepEqual(
      delivery.requests
        .filter(({ path }) => !/^(metadata\/player\.json|iframe)$/.test(path))
        .map(({ request }) => request.url!)
        .filter((url) => url.startsWith(`/${input}/`)),
      [],
    );
  });

  test("loads a video restricted to this site in a new player page, with the settings of the previous one", async () => {
    const { page, problems } = await open("muted=true&startTime=2s&controls=false&dvrEnabled=true");
    await until(page, "player.videoWidth === 640");
    const allowedOrigins = [new URL(page.url()).host];
    delivery.videos.set(GUARDED, someVideo({ uid: GUARDED, allowedOrigins, input: { width: 360, height: 640 } }));
    const last = "a".repeat(32);
    delivery.videos.set(last, someVideo({ uid: last, allowedOrigins, input: { width: 400, height: 400 } }));
    await page.evaluate(
      `Object.assign(player, { controls: true, loop: true, primaryColor: "rebeccapurple", src: "${delivery.origin}/${GUARDED}/manifest/video.m3u8" }); 0`,
    );
    await until(page, "player.videoWidth === 360");
    const frame = page.frames()[1]!;
    assert.equal(
      frame.url(),
      `${delivery.origin}/${GUARDED}/iframe?muted=true&startTime=2s&dvrEnabled=true&loop=true&preload=none&primaryColor=rebeccapurple`,
    );
    assert.deepEqual(await read(page, "muted", "controls", "loop", "src"), [true, true, true, GUARDED]);
    // Videos with the same allowed sites can replace each other within the page, and so can unrestricted ones.
    await page.evaluate(`player.src = "${last}"`);
    await until(page, "player.videoWidth === 400");
    await page.evaluate(`player.src = "${UID}"`);
    await until(page, "player.videoWidth === 640");
    await page.evaluate("player.play()");
    await until(page, "player.currentTime > 2");
    assert.equal(new URL(frame.url()).pathname, `/${GUARDED}/iframe`);
    assert.deepEqual(problems, []);
  });

  test("leaves nothing behind when players are removed, and receives the messages of all players with one listener", async () => {
    const { page } = await open("muted=true");
    await until(page, "player.videoWidth === 640");
    await page.evaluate(`window.listeners = 0;
      const { addEventListener } = window, known = new Set();
      window.addEventListener = (type, listener) => { known.add(listener); listeners = known.size; addEventListener(type, listener); };
      window.gone = Array.from({ length: 20 }, () => {
        const frame = document.createElement("iframe");
        document.body.append(frame);
        Stream(frame).addEventListener("play", () => frame);
        frame.remove();
        return new WeakRef(frame);
      }); 0`);
    assert.equal(await page.evaluate("listeners"), 1);
    const session = await page.context().newCDPSession(page);
    // Pending work of the browser may still refer to a frame.
    for (const deadline = Date.now() + 60_000; ; await setTimeout(25)) {
      await session.send("HeapProfiler.collectGarbage");
      const left = await page.evaluate("gone.filter((frame) => frame.deref() !== undefined).length");
      if (left === 0) break;
      assert.ok(Date.now() < deadline, `${String(left)} frames are left`);
    }
    // Messages from the remaining players are received, even if they were created before they were inserted, or moved
    // within the page.
    await page.evaluate(`{
      const late = document.createElement("iframe");
      window.late = Stream(late);
      late.src = "${delivery.origin}/${OTHER}/iframe";
      document.body.append(late);
      document.body.prepend(late);
    }`);
    await until(page, "late.videoWidth === 360");
    await page.evaluate("player.play()");
    await heard(page, "playing");
  });

  test("receives every event even if its script loads late, and loads nothing that is not needed", async () => {
    const { page, requests } = await open("", { late: true });
    await until(page, "window.player && player.videoWidth === 640");
    assert.deepEqual(await read(page, "src", "preload"), [UID, "none"]);
    assert.equal(
      requests.some((url) => url.includes("/manifest/")),
      false,
    );
    await page.evaluate('player.preload = "metadata"');
    await heard(page, "loadedmetadata");
    assert.equal(await page.evaluate('Stream(document.querySelector("iframe")) === player'), true);
  });

  test("ignores frames of third parties, and sends them nothing", async () => {
    const { page } = await open("muted=true");
    await until(page, "player.videoWidth === 640");
    const stranger = await openSite(
      { after: (end) => void ends.unshift(end) },
      {
        "/": {
          type: "text/html",
          body: "<script>window.got = []; onmessage = (event) => got.push(event.data); for (const frame of [parent.frames[0]]) { frame.postMessage({ __privateUnstableMessageType: 'setProperty', property: 'volume', value: 0.1 }, '*'); frame.postMessage({ __privateUnstableMessageType: 'playCommand' }, '*'); } parent.postMessage({ __privateUnstableMessageType: 'propertyChange', property: 'duration', value: 1 }, '*');</script>",
        },
      },
    );
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.addEventListener("load", () => resolve());
      frame.src = ${JSON.stringify(stranger)};
      document.body.append(frame);
    })`);
    // One round trip later all earlier messages have arrived.
    await page.evaluate("player.playbackRate = 2");
    await heard(page, "ratechange");
    assert.deepEqual(await read(page, "volume", "paused", "duration"), [1, true, 12]);
    assert.deepEqual(
      await page
        .frames()
        .find((frame) => frame.url().startsWith(stranger))!
        .evaluate("got"),
      [],
    );
  });

  test("is blocked by a parentOrigin that specifies a different page", async () => {
    const { page } = await open(`muted=true&parentOrigin=${encodeURIComponent("https://somewhere.example")}`);
    const frame = page.frames()[1]!;
    await frame.waitForSelector("media-controller");
    await page.evaluate(
      `document.querySelector("iframe").contentWindow.postMessage({ __privateUnstableMessageType: "setProperty", property: "volume", value: 0.1 }, "*")`,
    );
    // Messages from one page arrive in order: a listener of the test receives this one.
    await frame.evaluate(`new Promise((resolve) => {
      addEventListener("message", () => resolve(), { once: true });
      postMessage("after", "*");
    })`);
    assert.equal(await frame.evaluate('document.querySelector("video").volume'), 1);
    assert.deepEqual(await page.evaluate("heard"), []);
  });

  test("shows this server's player in frames that refer to the hosted player, however they were inserted", async () => {
    const hosted = (name: string) =>
      `https://customer-m033z5x00ks6nunl.cloudflarestream.com/${UID}/iframe?preload=none#${name}`;
    const site = await openSite(
      { after: (end) => void ends.unshift(end) },
      {
        "/": {
          type: "text/html",
          body: `<!doctype html><link rel="icon" href="data:,"><script src="${delivery.origin}/embed/local.js"></script><iframe src="${hosted("written")}"></iframe><p></p><script>
          document.querySelector("p").innerHTML = '<b><iframe src="${hosted("inside")}"></iframe></b>';
          const set = document.createElement("iframe"); set.src = "${hosted("set")}"; document.body.append(set);
          const given = document.createElement("iframe"); given.setAttribute("SRC", "${hosted("given")}"); document.body.append(given);
          const other = document.createElement("iframe"); other.src = "about:blank#other"; document.body.append(other);
          window.Stream = "the hosted one";
        </script>`,
        },
      },
    );
    const { page } = await openPage(browser);
    await page.route("https://**", (route) => route.abort());
    await page.goto(site);
    await until(
      page,
      `[...document.querySelectorAll("iframe")].filter(({ src }) => src.startsWith("${delivery.origin}/${UID}/iframe?preload=none#")).length === 4`,
    );
    assert.deepEqual(
      await page.evaluate('[...document.querySelectorAll("iframe")].map(({ src }) => src.split("#")[1]).sort()'),
      ["given", "inside", "other", "set", "written"],
    );
    await page.evaluate('window.player = Stream(document.querySelector("iframe"))');
    await until(page, "player.videoWidth === 640");
  });
});
