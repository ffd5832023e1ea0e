import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../../../test/support/browser.ts";
import { needsFfmpeg } from "../../../test/support/media.ts";
import type { Video } from "../videos/video.ts";
import { createFakeBroadcasts, type FakeBroadcasts, SEGMENT_S } from "./live.testing.ts";
import { type StaticDelivery, someVideo, startStaticDelivery, until } from "./player.testing.ts";

const skip = withoutChromium() || needsFfmpeg.skip;

// Most of the time is spent waiting.
describe("the player of a broadcast", { skip, concurrency: 2 }, () => {
  let delivery: StaticDelivery;
  let fakeLives: FakeBroadcasts;
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];
  let count = 0;
  const uid = () => String(++count).padStart(32, "0");

  before(async () => {
    fakeLives = await createFakeBroadcasts();
    delivery = await startStaticDelivery();
    ends.push(delivery.close);
    browser = await openBrowser({ after: (end) => void ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** Returns an input and its broadcast. */
  function newInput() {
    const input = uid();
    const live = fakeLives.broadcast();
    delivery.fakeLives.set(input, live);
    const show = (video: Video) => {
      delivery.videos.set(input, video).set(video.uid, video);
      return video;
    };
    return {
      input,
      live,
      waits: () =>
        show(
          someVideo({
            uid: input,
            liveInput: input,
            state: "pendingupload",
            readyToStream: false,
            duration: -1,
            input: { width: -1, height: -1 },
          }),
        ),
      /** Starts a broadcast as if it had already been running for `seconds`. */
      runs(seconds: number, more: Partial<Video> = {}) {
        live.begin(seconds);
        return show(someVideo({ uid: uid(), liveInput: input, state: "live-inprogress", duration: -1, ...more }));
      },
      isOver(running: Video) {
        live.end();
        show({ ...running, state: "ready", duration: 12 });
      },
    };
  }
  /** Closed at the end of the test: a player left open keeps playing, and slows down the others. */
  async function open(t: TestContext, url?: string) {
    const opened = await openPage(browser, url);
    t.after(() => opened.page.context().close());
    return opened;
  }
  const openVideo = (t: TestContext, id: string, query: string) => open(t, `${delivery.origin}/${id}/iframe?${query}`);
  const video = 'document.querySelector("video")';
  const atEdge = 'document.querySelector(".live").hasAttribute("atedge")';
  const plays = (page: Page) =>
    until(page, `!${video}.paused && ${video}.played.length > 0 && ${video}.currentTime > 0.3`);
  const showsText = (page: Page, text: string) => page.getByText(text).waitFor({ timeout: 60_000 });

  test("waits for a broadcast, starts automatically, and reports a gap and the end", async (t) => {
    const { input, live, waits, runs, isOver } = newInput();
    waits();
    const { page, problems } = await openVideo(t, input, "muted=true");
    await showsText(page, "The broadcast has not started yet");
    const running = runs(8);
    await plays(page);
    await page.getByRole("button", { name: "Live", exact: true }).waitFor({ timeout: 60_000 });
    assert.equal(await page.locator("media-time-range").isVisible(), false, "the player does not offer seeking back");
    await until(page, `${atEdge} && parseFloat(document.querySelector(".live-behind").textContent) < 4`);
    assert.ok(
      delivery.requests.some(
        ({ path, request }) => path === "manifest/video.m3u8" && request.url!.startsWith(`/${running.uid}/`),
      ),
      "segments are requested by video: the input may have another one later",
    );
    assert.ok(
      delivery.requests.some(
        ({ path, request }) =>
          path === "manifest/source.m3u8" && /^sid="[\w-]{20,64}"$/.test(String(request.headers["cmcd-session"])),
      ),
      "viewers have distinct session ids",
    );
    live.interrupt();
    delivery.unpublished.add(input);
    await showsText(page, "The broadcast was interrupted");
    live.resume();
    delivery.unpublished.delete(input);
    await page.locator(".hint").waitFor({ state: "hidden" });
    isOver(running);
    await showsText(page, "The broadcast has ended");
    await page.getByText("Watch again").click();
    await until(page, `Math.abs(${video}.duration - 12) < 0.5 && ${video}.currentTime > 0.1`);
    assert.equal(await page.locator(".live").isVisible(), false);
    assert.deepEqual(problems, []);
  });

  test("with DVR seeks back, shows the delay, changes the speed, and returns to the live edge", async (t) => {
    const { uid: id } = newInput().runs(20);
    const { page, problems } = await openVideo(t, id, "muted=true&autoplay=true&dvrEnabled=true");
    await plays(page);
    assert.equal(await page.evaluate(`${video}.currentTime > 15`), true);
    await page.keyboard.press("Home");
    await until(
      page,
      `${video}.currentTime < 5 && /^−0:\\d\\d$/.test(document.querySelector(".live-behind").textContent)`,
    );
    await page.evaluate(`${video}.playbackRate = 1.5`);
    await until(page, `${video}.currentTime > 1`);
    assert.equal(await page.evaluate(`${video}.playbackRate`), 1.5);
    await page.getByRole("button", { name: "Go to live" }).click();
    await until(page, `${atEdge} && ${video}.currentTime > 15 && ${video}.playbackRate < 1.1`);
    await until(page, 'document.querySelector("media-time-range").range.valueAsNumber > 0.97');
    assert.deepEqual(problems, []);
  });

  test("without DVR resumes at the live edge after a pause, and no key seeks to a different position", async (t) => {
    const { input, runs } = newInput();
    runs(8);
    const { page } = await openVideo(t, input, "muted=true&autoplay=true");
    await plays(page);
    await page.evaluate(
      `void (window.jumps = [], ${video}.addEventListener("seeking", () => jumps.push(${video}.currentTime)))`,
    );
    await page.keyboard.press("k");
    const at = (await page.evaluate(`${video}.currentTime`)) as number;
    // More than the distance from the live edge at which the player resumes.
    await until(page, `${video}.seekable.end(0) > ${at} + 5`);
    // On a busy machine hls.js may skip gaps on its own, so only the effect of the keys is checked.
    const { before: from, after: to } = (await page.evaluate(`(() => {
      const before = ${video}.currentTime;
      for (const key of ["Home", "5", "ArrowLeft", "ArrowRight"]) for (const type of ["keydown", "keyup"]) document.body.dispatchEvent(new KeyboardEvent(type, { key, bubbles: true, cancelable: true }));
      return { before, after: ${video}.currentTime };
    })()`)) as { before: number; after: number };
    assert.equal(to, from);
    await page.keyboard.press("k");
    await until(page, `!${video}.paused && ${video}.currentTime > ${at} + 1.5 && ${atEdge}`);
    assert.equal(await page.evaluate(`jumps.some((to) => to > ${at} + 1)`), true, "missed content is skipped");
  });

  test("polls an unavailable server until it responds again, and plays successive broadcasts", async (t) => {
    const { input, runs, isOver } = newInput();
    const first = runs(8);
    const { page } = await openVideo(t, input, "muted=true&autoplay=true");
    await plays(page);
    const away = [`${first.uid}/manifest/source.m3u8`, `${input}/metadata/player.json`];
    for (const path of away) delivery.overrides.set(path, { status: 503 });
    await showsText(page, "The connection was lost");
    for (const path of away) delivery.overrides.delete(path);
    await page.locator(".hint").waitFor({ state: "hidden" });
    isOver(first);
    await showsText(page, "The broadcast has ended");
    const requested = delivery.requests.length;
    const second = runs(8, { readyToStream: false });
    await until(
      {
        evaluate: async () =>
          delivery.requests.slice(requested).some(({ request }) => request.url!.startsWith(`/${input}/metadata/`)),
      },
      "",
    );
    runs(8, { uid: second.uid });
    await plays(page);
    assert.equal(await page.locator(".live").isVisible(), true);
    isOver(second);
    for (const id of [input, second.uid]) delivery.videos.delete(id);
    await showsText(page, "This video does not exist");
  });

  test("continues after the server has deleted low-latency parts", async (t) => {
    const { uid: id } = newInput().runs(8);
    const { page } = await openVideo(t, id, "muted=true&autoplay=true");
    await plays(page);
    // A server keeps the parts of the latest segments only (rfc8216bis 6.2.2). The whole segment remains available.
    const first = 2 + Math.ceil((await page.evaluate<number>(`${video}.seekable.end(0)`)) / SEGMENT_S);
    const missing = [0, 1, 2, 3].map((part) => `${id}/segments/${first}.${part}.m4s`);
    for (const path of missing) delivery.overrides.set(path, { status: 404 });
    await until(page, `!${video}.paused && ${video}.currentTime > ${(first + 1) * SEGMENT_S + 1}`);
    assert.ok(delivery.requests.some(({ request }) => missing.includes(request.url!.slice(1))));
  });

  test("plays a recording when nothing is live, and offers a broadcast that starts in the meantime", async (t) => {
    const { input, runs, isOver } = newInput();
    isOver(runs(8));
    const { page } = await openVideo(t, input, "muted=true&autoplay=true");
    await plays(page);
    assert.equal(await page.locator(".live").isVisible(), false);
    const next = runs(8);
    await showsText(page, "There is a new broadcast.");
    await page.locator(".hint-button").click();
    await until(page, atEdge);
    assert.ok(delivery.requests.some(({ request }) => request.url!.startsWith(`/${next.uid}/manifest/`)));
  });

  test("starts muted after waiting if the browser blocks audio, and unmutes on a click", async (t) => {
    const { input, waits, runs } = newInput();
    waits();
    const { page } = await open(t);
    await page.addInitScript(`{
      const play = HTMLMediaElement.prototype.play;
      HTMLMediaElement.prototype.play = function () { return this.muted ? play.call(this) : Promise.reject(new DOMException("not asked for", "NotAllowedError")); };
    }`);
    await page.goto(`${delivery.origin}/${input}/iframe`);
    await showsText(page, "has not started yet");
    runs(8);
    await plays(page);
    await page.getByRole("button", { name: "Turn it on" }).click({ timeout: 60_000 });
    assert.equal(await page.evaluate(`${video}.muted`), false);
    await page.locator(".hint").waitFor({ state: "hidden" });
  });

  test("plays an unrecorded broadcast over WebRTC, from its start to its end", async (t) => {
    const { input, waits } = newInput();
    delivery.unrecorded.add(input);
    delivery.unpublished.add(input);
    waits();
    const { page, problems } = await open(t);
    // A WHEP endpoint within the page: a peer that sends the contents of a canvas.
    await page.addInitScript(`{
      const before = window.fetch;
      window.asked = [];
      window.fetch = async (url, options = {}) => {
        if (!/webRTC|session/.test(url)) return before(url, options);
        asked.push(options.method + " " + url.replace(/^.*\\/(?=webRTC|session)/, ""));
        if (options.method === "DELETE") return new Response("");
        const canvas = document.createElement("canvas");
        canvas.width = 320;
        canvas.height = 180;
        let n = 0;
        const drawing = setInterval(() => { const pen = canvas.getContext("2d"); pen.fillStyle = "hsl(" + (n += 20) + " 90% 50%)"; pen.fillRect(0, 0, 320, 180); }, 40);
        window.freeze = () => clearInterval(drawing);
        const peer = new RTCPeerConnection();
        await peer.setRemoteDescription({ type: "offer", sdp: options.body });
        const [track] = canvas.captureStream(25).getTracks();
        const sender = peer.getTransceivers().find(({ receiver }) => receiver.track.kind === "video");
        sender.direction = "sendonly";
        await sender.sender.replaceTrack(track);
        await peer.setLocalDescription();
        while (peer.iceGatheringState !== "complete") await new Promise((resolve) => setTimeout(resolve, 10));
        return new Response(peer.localDescription.sdp, { status: 201, headers: { location: "session/1" } });
      };
    }`);
    await page.goto(`${delivery.origin}/${input}/iframe?muted=true&dvrEnabled=true`);
    await showsText(page, "has not started yet");
    delivery.unpublished.delete(input);
    await plays(page);
    await until(page, `${video}.videoWidth === 320`);
    assert.equal(await page.locator(".live").isVisible(), true);
    assert.equal(await page.locator("media-time-range").isVisible(), false);
    assert.equal(
      delivery.requests.some(({ request }) => request.url!.startsWith(`/${input}/manifest/`)),
      false,
    );
    delivery.unpublished.add(input);
    // The connection remains open, because the publisher might return.
    await page.evaluate("freeze()");
    await showsText(page, "has not started yet");
    await until(page, "asked.length > 1");
    assert.deepEqual(await page.evaluate("asked"), ["POST webRTC/play", "DELETE session/1"]);
    assert.deepEqual(problems, []);
  });
});
