import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../../../test/support/browser.ts";
import { clip, needsFfmpeg } from "../../../test/support/media.ts";
import { type StaticDelivery, someVideo, splitIntoChunks, startStaticDelivery, until } from "./player.testing.ts";

const UID = "0123456789abcdef0123456789abcdef";
const skip = withoutChromium() || needsFfmpeg.skip;

describe("the player page", { skip }, () => {
  let delivery: StaticDelivery;
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];
  let count = 0;

  before(async () => {
    delivery = await startStaticDelivery();
    ends.push(delivery.close);
    delivery.videos.set(UID, someVideo());
    browser = await openBrowser({ after: (end) => void ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  // Pages that remain open keep playing, and slow down later tests.
  afterEach(async () => void (await Promise.all(browser.contexts().map((context) => context.close()))));

  /** Returns a separate video for a test that changes it. */
  const another = (change: Parameters<typeof someVideo>[0]) => {
    const video = someVideo({ ...change, uid: String(++count).padStart(32, "0") });
    delivery.videos.set(video.uid, video);
    return video;
  };
  const open = (query: string, uid = UID, page = "iframe") =>
    openPage(browser, `${delivery.origin}/${uid}/${page}?${query}`);
  const media = (page: Page, expression: string) => page.evaluate(`document.querySelector("video").${expression}`);
  const menu = async (page: Page, entry: string, choice: string) => {
    await page.locator("media-settings-menu-button").click();
    await page.locator("media-settings-menu-item", { hasText: entry }).first().click();
    await page.locator("media-chrome-menu-item", { hasText: choice }).first().click();
  };

  test("loads only the poster before playback is requested, and starts playing after one click", async () => {
    const { page, problems } = await open("");
    await page.locator("img.poster").waitFor();
    assert.equal(await media(page, "readyState"), 0);
    await page.locator("media-time-display[mediaduration='12']").waitFor({ state: "attached" });
    await page.locator(".big-play").click();
    await until(page, 'document.querySelector("video").currentTime > 0.2');
    await page.locator(".big-play").waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
  });

  test("selects quality, speed, audio and captions from the menu", async () => {
    const { page, problems } = await open("muted=true&preload=metadata");
    await until(page, 'document.querySelector("video").readyState > 0');
    await menu(page, "Quality", "360p");
    await page.keyboard.press("Escape");
    await menu(page, "Speed", "1.5x");
    await until(page, 'document.querySelector("video").playbackRate === 1.5');
    await page.keyboard.press("Escape");
    await menu(page, "Audio", "Commentary");
    await until(
      page,
      '[...document.querySelector("video").audioTracks].find(({ enabled }) => enabled).label === "Commentary"',
    );
    await page.keyboard.press("Escape");
    await menu(page, "Captions", "Deutsch");
    await until(
      page,
      '[...document.querySelector("video").textTracks].some((track) => track.language === "de" && track.mode === "showing" && track.cues?.length === 1)',
    );
    await media(page, "play()");
    await until(page, 'document.querySelector("video").videoHeight === 360');
    await page.locator("media-captions-button[aria-checked=true]").waitFor({ state: "attached" });
    assert.deepEqual(problems, []);
  });

  test("handles keys for play, seek, mute and captions without a prior click", async () => {
    const { page } = await open("muted=true&preload=metadata&defaultTextTrack=en-GB");
    await until(
      page,
      '[...document.querySelector("video").textTracks].some((track) => track.language === "en" && track.mode === "showing")',
    );
    await page.keyboard.press("k");
    await until(page, '!document.querySelector("video").paused');
    await page.keyboard.press("Space");
    await until(page, 'document.querySelector("video").paused');
    await page.keyboard.press("5");
    await until(page, 'Math.abs(document.querySelector("video").currentTime - 6) < 0.1');
    await page.keyboard.press("Home");
    await until(page, 'document.querySelector("video").currentTime === 0');
    await page.keyboard.press("m");
    await until(page, '!document.querySelector("video").muted');
    await page.keyboard.press("c");
    await until(
      page,
      '![...document.querySelector("video").textTracks].some((track) => track.kind === "subtitles" && track.mode === "showing")',
    );
    // Visits every button with Tab, and opens and closes the menu by keyboard.
    const reached = new Set<unknown>();
    for (let presses = 0; presses < 12; presses++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate("document.activeElement?.localName"));
    }
    for (const name of [
      "media-time-range",
      "media-play-button",
      "media-mute-button",
      "media-captions-button",
      "media-settings-menu-button",
      "media-fullscreen-button",
    ])
      assert.ok(reached.has(name), `${name} of ${[...reached].join(" ")}`);
    await page.locator("media-settings-menu-button").focus();
    await page.keyboard.press("Enter");
    await until(page, 'document.activeElement.localName === "media-settings-menu-item"');
    await page.keyboard.press("Escape");
    await page.locator("media-settings-menu").waitFor({ state: "hidden" });
  });

  test("gives every control an accessible name", async () => {
    const { page } = await open("preload=metadata");
    await until(page, 'document.querySelector("video").readyState > 0');
    const nameless =
      await page.evaluate(`[...document.querySelectorAll("media-control-bar > *, .big-play, .volume > *, button, a")]
      .filter((element) => element.checkVisibility() && element.matches("[role], button, a, media-time-range, media-volume-range") && !["presentation", "none"].includes(element.getAttribute("role")))
      .filter((element) => !(element.getAttribute("aria-label") ?? element.shadowRoot?.querySelector("[aria-label]")?.getAttribute("aria-label") ?? element.textContent.trim()))
      .map((element) => element.localName)`);
    assert.deepEqual(nameless, []);
    assert.equal(await page.evaluate("document.documentElement.lang"), "en");
  });

  test("shows storyboard thumbnails at the pointer's position on the time range", async () => {
    const { page } = await open("muted=true&autoplay=true");
    await until(page, 'document.querySelector("video").currentTime > 0');
    await page.locator("media-time-range").hover();
    await until(
      page,
      `document.querySelector("media-preview-thumbnail").getAttribute("mediapreviewimage")?.startsWith("${delivery.origin}/${UID}/thumbnails/storyboard-0.jpg")`,
    );
  });

  test("shows chapters on the timeline, at the pointer, and in a menu with keyboard support", async () => {
    const video = another({});
    delivery.chapters.set(video.uid, [
      { start: 0, title: "Start" },
      { start: 6, title: "Mill & <river>" },
    ]);
    const { page, problems } = await open("muted=true&preload=metadata", video.uid);
    await until(page, 'document.querySelector("video").readyState > 0');
    await until(
      page,
      'document.querySelector("media-time-range").shadowRoot.querySelectorAll("#segments-clipping rect").length === 2',
    );
    // The duration increases when audio has been appended.
    await until(
      page,
      'document.querySelector("track[kind=chapters]").track.cues[1].endTime === document.querySelector("video").duration',
    );
    const box = (await page.locator("media-time-range").boundingBox())!;
    const preview = page.locator("media-preview-chapter-display").first();
    // The controls ignore a pointer that does not move again once they are ready.
    for (let n = 0; (await preview.getAttribute("mediapreviewchapter")) !== "Mill & <river>"; n++) {
      assert.ok(n < 1000, "the preview shows the chapter at the pointer");
      await page.mouse.move(box.x + box.width * (0.75 + (n % 2) / 100), box.y + box.height / 2);
    }
    await page.locator("media-settings-menu-button").focus();
    await page.keyboard.press("Enter");
    await until(page, 'document.activeElement.textContent.includes("Chapters")');
    await page.keyboard.press("Enter");
    await until(page, 'document.querySelector("chapters-menu").contains(document.activeElement)');
    assert.deepEqual(await page.locator("chapters-menu media-chrome-menu-item").allInnerTexts(), [
      "Start\n0:00",
      "Mill & <river>\n0:06",
    ]);
    await page.locator("chapters-menu media-chrome-menu-item").last().focus();
    await page.keyboard.press("Enter");
    await until(page, 'document.querySelector("video").currentTime === 6');
    await until(page, 'document.querySelector(".chapter-now").textContent === "Mill & <river>"');
    assert.deepEqual(problems, []);
    // A video without chapters has neither the menu nor the track.
    const other = await open("muted=true&preload=metadata");
    await until(other.page, 'document.querySelector("video").readyState > 0');
    assert.equal(await other.page.locator("track[kind=chapters]").count(), 0);
    await other.page.locator("media-settings-menu-button").click();
    assert.equal(await other.page.locator("media-settings-menu-item.chapters").isVisible(), false);
  });

  test("reports that a video is being processed, and plays it as soon as possible", async () => {
    const video = another({ state: "queued", readyToStream: false, pctComplete: 0 });
    const { page } = await open("muted=true&autoplay=true", video.uid);
    await page.getByText("The video is queued for processing").waitFor();
    delivery.videos.set(video.uid, { ...video, state: "inprogress", pctComplete: 40 });
    await page.getByText("The video is being prepared").waitFor();
    assert.equal(await page.getByRole("progressbar").getAttribute("aria-valuenow"), "40");
    assert.equal(await page.locator(".bar").first().isVisible(), false);
    delivery.videos.set(video.uid, { ...video, state: "inprogress", pctComplete: 60, readyToStream: true });
    await until(page, 'document.querySelector("video").currentTime > 0.2');
    assert.equal(await page.locator(".notice").isVisible(), false);
  });

  test("shows the first frames of a segment before the rest has arrived, and continues after a lost connection", async () => {
    const { uid } = another({});
    const shown = Promise.withResolvers<void>();
    let requestsOfSecond = 0;
    for (const quality of ["low", "high"])
      for (const n of [0, 1]) {
        const path = `${uid}/manifest/${quality}-${n}.m4s`;
        const segment = await (await fetch(`${delivery.origin}/${path}`)).arrayBuffer();
        const chunks = await splitIntoChunks(Buffer.from(segment), 5);
        const body = async function* () {
          yield* chunks.slice(0, 2);
          if (n === 0) await shown.promise;
          else if (requestsOfSecond++ === 0) throw new Error("the connection is lost");
          yield* chunks.slice(2);
        };
        delivery.overrides.set(path, { status: 200, type: "video/mp4", body });
      }
    const { page } = await open("muted=true&autoplay=true", uid);
    await until(page, 'document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames > 0');
    shown.resolve();
    await page.evaluate('document.querySelector("video").currentTime = 7');
    await until(page, 'document.querySelector("video").currentTime > 8.1');
    assert.ok(requestsOfSecond > 1);
  });

  test("explains that a video has failed, has been deleted or is not accessible", async () => {
    const failed = another({
      state: "error",
      readyToStream: false,
      errorReason: { code: "ERR_MALFORMED_VIDEO", text: "" },
    });
    const { page } = await open("", failed.uid);
    await page.getByText("The file is damaged.").waitFor();
    const waiting = another({ state: "inprogress", readyToStream: false });
    await page.goto(`${delivery.origin}/${waiting.uid}/iframe`);
    await page.getByText("is being prepared").waitFor();
    delivery.videos.delete(waiting.uid);
    await page.getByText("This video does not exist").waitFor();
    delivery.overrides.set("manifest/video.m3u8", { status: 403 });
    await page.goto(`${delivery.origin}/${UID}/iframe?preload=auto`);
    await page.getByText("You cannot watch this video").waitFor();
    delivery.overrides.delete("manifest/video.m3u8");
    await page.getByText("Try again").click();
    await until(page, 'document.querySelector("video").currentTime > 0.1');
  });

  test("does not insert any part of the URL into the page", async () => {
    const nasty = encodeURIComponent(`"><img src=x onerror="document.title='broken in'">`);
    const { page, problems } = await open(
      ["poster", "primaryColor", "letterboxColor", "defaultTextTrack", "src", "ad-url", "startTime", "preload"]
        .map((name) => `${name}=${nasty}`)
        .join("&"),
    );
    await page.locator("media-controller").waitFor();
    assert.equal(await page.locator("img[onerror]").count(), 0);
    assert.equal(await page.title(), "Video");
    assert.deepEqual(problems, []);
    await page.goto(`${delivery.origin}/${UID}/iframe?poster=javascript:alert(1)&primaryColor=red;background:url(x)`);
    await page.locator("media-controller").waitFor();
    assert.equal(await page.evaluate('document.documentElement.style.getPropertyValue("--accent")'), "");
  });

  test("fits into a frame of 320 pixels, and shows no controls if they are disabled", async () => {
    const { page } = await open("preload=metadata");
    await page.setViewportSize({ width: 320, height: 180 });
    await until(page, 'document.querySelector("video").readyState > 0');
    const outside =
      await page.evaluate(`[...document.querySelectorAll("media-control-bar, media-control-bar > *")].filter((element) => element.checkVisibility())
      .filter((element) => { const { left, right, bottom } = element.getBoundingClientRect(); return left < -1 || right > 321 || bottom > 181; }).map((element) => element.localName)`);
    assert.deepEqual(outside, []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320);
    await page.goto(`${delivery.origin}/${UID}/iframe?controls=false&muted=true&autoplay=true`);
    await until(page, 'document.querySelector("video").currentTime > 0.1');
    for (const name of [".bar", ".big-play", ".top"]) assert.equal(await page.locator(name).first().isVisible(), false);
    await page.mouse.click(160, 60);
    await page.keyboard.press("k");
    assert.equal(await media(page, "paused"), false);
  });

  describe("the player page with an advertisement", () => {
    const vast = (inner: string) => `<?xml version="1.0"?><VAST version="3.0"><Ad>${inner}</Ad></VAST>`;
    const inline = (extra = "") =>
      vast(`<InLine><Impression><![CDATA[/${UID}/seen/impression]]></Impression><Creatives><Creative><Linear ${extra}><Duration>00:00:12</Duration>
      <TrackingEvents><Tracking event="start">/${UID}/seen/start</Tracking><Tracking event="complete">/${UID}/seen/complete</Tracking><Tracking event="skip">/${UID}/seen/skip</Tracking></TrackingEvents>
      <VideoClicks><ClickThrough>https://shop.example/</ClickThrough></VideoClicks>
      <MediaFiles><MediaFile type="application/javascript" apiFramework="VPAID"><![CDATA[/evil.js]]></MediaFile><MediaFile type="video/mp4" width="320" height="180">/${UID}/ad.mp4</MediaFile></MediaFiles></Linear></Creative></Creatives></InLine>`);
    const document = (body: string) => delivery.overrides.set("vast.xml", { status: 200, type: "text/xml", body });

    before(async () => {
      delivery.overrides.set("ad.mp4", {
        status: 200,
        type: "video/mp4",
        body: await readFile(await clip({ seconds: 12, size: "640x360", fps: "25" })),
      });
      for (const event of ["impression", "start", "complete", "skip"])
        delivery.overrides.set(`seen/${event}`, { status: 204 });
    });

    /** Resolves with a page whose frame receives the player's events. */
    async function embed(name: string): Promise<Page> {
      const { page } = await openPage(browser);
      delivery.requests.length = 0;
      await page.goto(`${delivery.origin}/embed/licenses.txt`);
      await page.setContent(
        `<iframe src="${delivery.origin}/${UID}/iframe?muted=true&preload=metadata&ad-url=${encodeURIComponent(`${delivery.origin}/${UID}/${name}`)}" width="640" height="360" allow="autoplay"></iframe>`,
      );
      await page.addScriptTag({ url: `${delivery.origin}/embed/sdk.latest.js` });
      await page.evaluate(`window.received = []; window.player = Stream(document.querySelector("iframe"));
        for (const name of ["stream-adstart", "stream-adend", "stream-adtimeout", "playing"]) player.addEventListener(name, () => received.push(name));`);
      await until(page, "player.videoWidth > 0");
      return page;
    }
    /** Waits for exactly these tracking requests, which arrive in any order. */
    async function tracked(...events: string[]): Promise<void> {
      const received = () =>
        delivery.requests
          .map(({ path }) => path)
          .filter((path) => path.startsWith("seen/"))
          .map((path) => path.slice(5));
      for (const deadline = Date.now() + 60_000; received().length < events.length; await setTimeout(25))
        assert.ok(Date.now() < deadline, `only ${received().join()}`);
      assert.deepEqual(received().toSorted(), events);
    }

    test("plays the advertisement first with a countdown, then the video", async () => {
      document(inline());
      const page = await embed("vast.xml");
      const playing = page.evaluate("player.play()");
      const frame = page.frames()[1]!;
      await frame.getByText(/^Ad · \d+ s$/).waitFor();
      assert.equal(await frame.getByText("Learn more").getAttribute("href"), "https://shop.example/");
      assert.equal(await frame.locator(".bar").first().isVisible(), false);
      await frame.getByLabel("Advertisement").evaluate((ad: { currentTime: number; duration: number }) => {
        ad.currentTime = ad.duration - 0.3;
      });
      await playing;
      await until(page, 'received.includes("playing")');
      // Playback that has to wait for data starts again with another event.
      const received = await page.evaluate("[...new Set(received)]");
      assert.deepEqual(received, ["stream-adstart", "stream-adend", "playing"]);
      await tracked("complete", "impression", "start");
      // Played once per video.
      await page.evaluate("player.pause(); player.play()");
      await until(page, "player.currentTime > 0.3");
      assert.equal(await page.evaluate("received.filter((name) => name === 'stream-adstart').length"), 1);
    });

    test("allows skipping the advertisement if the ad permits it, through a wrapper and a list of ad breaks", async () => {
      document(inline('skipoffset="10%"'));
      delivery.overrides.set("wrapper.xml", {
        status: 200,
        type: "text/xml",
        body: vast(
          `<Wrapper><VASTAdTagURI>vast.xml</VASTAdTagURI><Impression>/${UID}/seen/impression?wrapper</Impression></Wrapper>`,
        ),
      });
      const list = `<vmap:VMAP xmlns:vmap="http://www.iab.net/videosuite/vmap" version="1.0"><vmap:AdBreak timeOffset="00:00:30"><vmap:AdSource><vmap:AdTagURI>nothing.xml</vmap:AdTagURI></vmap:AdSource></vmap:AdBreak><vmap:AdBreak timeOffset="start"><vmap:AdSource><vmap:AdTagURI>wrapper.xml</vmap:AdTagURI></vmap:AdSource></vmap:AdBreak></vmap:VMAP>`;
      delivery.overrides.set("list.xml", { status: 200, type: "text/xml", body: list });
      const { page } = await open(`muted=true&ad-url=${encodeURIComponent(`${delivery.origin}/${UID}/list.xml`)}`);
      delivery.requests.length = 0;
      await page.locator(".big-play").click();
      await page.getByText("Skip ad").click();
      await until(page, 'document.querySelector("video[slot=media]").currentTime > 0.1');
      await tracked("impression", "impression", "skip", "start");
    });

    test("ignores advertisement documents that are empty or malformed, or that refer to missing files or to themselves", async () => {
      const bodies = {
        "empty.xml": "",
        "broken.xml": "<VAST",
        "none.xml": vast(""),
        "missing.xml": inline().replaceAll("ad.mp4", "gone.mp4"),
        "loop.xml": vast("<Wrapper><VASTAdTagURI>loop.xml</VASTAdTagURI></Wrapper>"),
      };
      for (const [name, body] of Object.entries(bodies))
        delivery.overrides.set(name, { status: 200, type: "text/xml", body });
      await Promise.all(
        Object.keys(bodies).map(async (name) => {
          const page = await embed(name);
          await page.evaluate("player.play()");
          await until(page, 'received.includes("playing")');
          assert.deepEqual(await page.evaluate("[...new Set(received)]"), ["playing"], name);
          assert.equal(await page.frames()[1]!.locator(".ad").isVisible(), false);
        }),
      );
    });
  });
});
