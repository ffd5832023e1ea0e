// Worker pages on the platform's own host, in a real browser, which controls what they can access on the platform.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createApi } from "../e2e/serve-client.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type VideoPlatform } from "./video-platform.ts";

const HOSTILE = `
const SCRIPT = "self.addEventListener('install', () => self.skipWaiting()); self.addEventListener('activate', (event) => event.waitUntil(clients.claim())); self.addEventListener('fetch', (event) => event.respondWith(new Response('taken over')))";
const REACHING = { "service-worker-allowed": "/", "clear-site-data": '"*"', "strict-transport-security": "max-age=9999; includeSubDomains", "alt-svc": 'h2="evil.example:443"', "nel": "{}" };
export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    const headers = new Headers(REACHING);
    headers.append("set-cookie", "wide=1; Path=/; Domain=localhost");
    headers.append("set-cookie", "plain=1; Path=/");
    if (pathname === "/sw.js") {
      headers.set("content-type", "text/javascript");
      return new Response(SCRIPT, { headers });
    }
    headers.set("content-type", "text/html");
    return new Response("<!doctype html><title>hostile</title><h1>hello</h1>", { headers });
  },
};
`;

describe("a hostile worker's page on the platform's host", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let browser: Browser;
  let uid: string;
  before(async () => {
    let path: string;
    [path, platform, browser] = await Promise.all([
      clip({ seconds: 2 }),
      startVideoPlatform(scope),
      openBrowser(scope),
    ]);
    await createApi({ ...platform, account: { id: platform.account } }, platform.token).deploy("hostile", HOSTILE);
    const form = new FormData();
    form.set("file", new Blob([readFileSync(path)]), "clip.mp4");
    ({ uid } = await platform.ask<{ uid: string }>(`/accounts/${platform.account}/stream`, {
      method: "POST",
      body: form,
    }));
    await platform.playable(uid);
    await platform.ask(`/accounts/${platform.account}/stream/${uid}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ allowedOrigins: ["allowed.example"] }),
    });
  });
  after(() => scope.close());

  it("cannot register a service worker, and its cookies are confined to its path", async () => {
    const { page } = await openPage(browser, `${platform.url}/workers/hostile/`);
    const registered = await page
      .evaluate(
        "navigator.serviceWorker.register('/workers/hostile/sw.js', { scope: '/' }).then(() => 'registered', (err) => err.name)",
      )
      .catch((err: unknown) => String(err));
    assert.notEqual(registered, "registered");
    // A platform page cannot register the script either, even if it were tricked into trying.
    await page.goto(`${platform.url}/`);
    assert.notEqual(
      await page.evaluate(
        "navigator.serviceWorker.register('/workers/hostile/sw.js').then(() => 'registered', (err) => err.name)",
      ),
      "registered",
    );
    assert.deepEqual(
      (await page.context().cookies()).map(({ name, path, domain }) => [name, path, domain]).toSorted(),
      [
        ["plain", "/workers/hostile", "127.0.0.1"],
        ["wide", "/workers/hostile", "127.0.0.1"],
      ],
    );
    assert.match(await (await page.goto(`${platform.url}/`))!.text(), /Reelpost/);
    await page.context().close();
  });

  it("runs in an opaque origin and cannot read platform pages", async () => {
    const { page } = await openPage(browser, `${platform.url}/workers/hostile/`);
    assert.equal(await page.evaluate("self.origin"), "null");
    assert.equal(
      await page.evaluate(
        "fetch('/client/v4/docs').then((answer) => answer.text()).then(() => 'read', (err) => err.name)",
      ),
      "TypeError",
    );
    const framed =
      "new Promise((done) => { const frame = document.createElement('iframe'); frame.src = '/'; frame.onload = () => { try { done(frame.contentDocument === null ? 'closed' : 'open') } catch { done('closed') } }; document.body.append(frame) })";
    assert.equal(await page.evaluate(framed), "closed");
    await page.context().close();
  });

  it("is not treated as a platform page by allowedOrigins", async () => {
    const { page } = await openPage(browser, `${platform.url}/workers/hostile/`);
    for (const how of [
      "{}",
      "{ mode: 'no-cors' }",
      "{ referrerPolicy: 'no-referrer' }",
      "{ mode: 'no-cors', referrerPolicy: 'no-referrer' }",
    ]) {
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes(uid)),
        page.evaluate(`fetch('/${uid}/manifest/video.m3u8', ${how}).catch(() => {})`),
      ]);
      assert.equal(answer.status(), 403, how);
    }
    // The worker cannot embed the player in a frame.
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/iframe")),
      page.evaluate(`document.body.append(Object.assign(document.createElement('iframe'), { src: '/${uid}/iframe' }))`),
    ]);
    assert.equal(answer.status(), 403);
    // The platform's own page can play the video.
    assert.equal((await page.goto(`${platform.url}/${uid}/watch`))!.status(), 200);
    assert.equal(await page.evaluate(`fetch('/${uid}/manifest/video.m3u8').then(({ status }) => status)`), 200);
    await page.context().close();
  });
});
