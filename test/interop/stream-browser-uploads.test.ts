// Browser uploads from third-party sites: the server determines what these sites may send and whether they may read the
// response.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { until } from "../../src/stream/player/player.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type VideoPlatform } from "./video-platform.ts";

const missing =
  !existsSync(clientFile("tus-js-client")) &&
  process.env["REQUIRE_ALL"] !== "1" &&
  "the clients of the tests are not installed";

const PAGE = `<!doctype html><script src="/tus.js"></script><script>
  const clip = fetch("/clip.mp4").then((response) => response.blob());
  async function byTus(options) {
    const file = await clip;
    return new Promise((resolve, reject) => {
      let id;
      const upload = new tus.Upload(file, {
        retryDelays: [], metadata: { name: "by a browser", filetype: file.type }, ...options,
        onAfterResponse: (request, response) => void (id ??= response.getHeader("stream-media-id")),
        onError: (error) => reject(new Error(String(error))), onSuccess: () => resolve(id),
      });
      upload.start();
    });
  }
  async function byForm(url) {
    const form = new FormData();
    form.append("file", await clip, "form.mp4");
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      let progress = 0;
      request.upload.onprogress = () => progress++;
      request.onloadend = () => resolve({ status: request.status, progress: progress > 0 });
      request.open("POST", url);
      request.send(form);
    });
  }
</script>`;

describe(
  "uploads from a browser, through the whole server",
  { skip: needsFfmpeg.skip || withoutChromium() || missing },
  () => {
    const scope = createScope();
    let platform: VideoPlatform;
    let browser: Browser;
    let account_id: string;
    let path: string;
    let site: string;
    before(async () => {
      [path] = await Promise.all([
        clip({ seconds: 4 }),
        startVideoPlatform(scope, { REELPOST_STREAM_DELIVERY_DOMAIN: "videos.localhost" }).then(
          (started) => (platform = started),
        ),
        openBrowser(scope).then((opened) => (browser = opened)),
      ]);
      account_id = platform.account;
      site = await openSite(scope, {
        "/": { type: "text/html", body: PAGE },
        "/tus.js": { type: "text/javascript", file: clientFile("tus-js-client/dist/tus.min.js") },
        "/clip.mp4": { type: "video/mp4", file: path },
      });
    });
    after(async () => {
      await scope.close();
      assert.deepEqual(platform.problems, []);
    });

    const direct = (): Promise<{ uploadURL: string; uid: string }> =>
      platform.client.stream.directUpload.create({ account_id, maxDurationSeconds: 60 });

    it("tus-js-client uploads to the API with a token, and to URLs that need no token", async () => {
      const { page, problems } = await openPage(browser, site);
      const send = (options: object) => page.evaluate(`byTus(${JSON.stringify(options)})`) as Promise<string>;
      const endpoint = `${platform.api}/accounts/${account_id}/stream`;
      const byToken = await send({ endpoint, headers: { Authorization: `Bearer ${platform.token}` } });
      assert.equal((await platform.playable(byToken)).meta["name"], "by a browser");

      const created: Response = await platform.client.stream
        .create({
          account_id,
          direct_user: true,
          "Tus-Resumable": "1.0.0",
          "Upload-Length": readFileSync(path).length,
          "Upload-Metadata": `maxDurationSeconds ${btoa("60")}`,
        })
        .asResponse();
      await send({ uploadUrl: created.headers.get("location")! });
      assert.equal((await platform.playable(created.headers.get("stream-media-id")!)).duration, 4);

      const { uploadURL, uid } = await direct();
      assert.equal(await send({ endpoint: uploadURL }).catch((err: unknown) => String(err)), uid);
      await platform.playable(uid);
      await page.context().close();
      assert.deepEqual(problems, []);
    });

    it("a form is sent to a one-time URL with progress, and a second one is rejected as too late", async () => {
      const { page } = await openPage(browser, site);
      const { uploadURL, uid } = await direct();
      assert.deepEqual(await page.evaluate(`byForm(${JSON.stringify(uploadURL)})`), { status: 200, progress: true });
      await platform.playable(uid);
      assert.equal(((await page.evaluate(`byForm(${JSON.stringify(uploadURL)})`)) as { status: number }).status, 409);
      await page.context().close();
    });

    it("the page at a one-time URL uploads a file and links to its player", async () => {
      const { uploadURL, uid } = await direct();
      const { page, problems } = await openPage(browser, uploadURL);
      const refused: string[] = [];
      page.on(
        "response",
        (response) =>
          void (
            response.status() >= 400 &&
            refused.push(`${response.request().method()} ${response.status()} ${response.url()}`)
          ),
      );
      await page.setInputFiles("input", path);
      await page.getByText(/Your video is (being processed|ready)/).waitFor();
      await platform.playable(uid);
      await page.getByText("Watch video").click();
      await page.waitForURL(`http://customer-*.videos.localhost:*/${uid}/watch`);
      const player = page.frames().at(-1)!;
      await until(player, "document.querySelector('video')?.readyState >= 1");
      await player.evaluate("Object.assign(document.querySelector('video'), { muted: true, playbackRate: 2 }).play()");
      await until(player, "document.querySelector('video').ended");
      await page.context().close();
      // The client checks whether part of the file was already uploaded.
      assert.deepEqual(refused, [`HEAD 404 ${uploadURL}`]);
      assert.equal(problems.length, 1, String(problems));
      assert.match(problems[0]!, /status of 404 /);
      assert.ok(problems[0]!.endsWith(` at ${uploadURL}`), problems[0]!);
    });

    it("the video hosts serve nothing else", async () => {
      const { page } = await openPage(browser);
      const origin = new URL((await platform.client.stream.get((await direct()).uid, { account_id })).preview).origin;
      const status = async (path: string) => (await page.goto(`${origin}${path}`))!.status();
      assert.deepEqual(
        [
          await status("/client/v4/openapi.json"),
          await status("/workers/any/"),
          await status("/metrics"),
          await status("/embed/sdk.latest.js"),
        ],
        [404, 404, 404, 200],
      );
      await page.context().close();
    });

    it("a page calls the API with a token and reads its response", async () => {
      const { page } = await openPage(browser, site);
      const listed = await page.evaluate(
        `fetch(${JSON.stringify(`${platform.api}/accounts/${account_id}/stream/`)}, { headers: { Authorization: ${JSON.stringify(`Bearer ${platform.token}`)} } }).then(async (response) => [response.status, (await response.json()).result.length])`,
      );
      await page.context().close();
      assert.deepEqual(listed, [200, 6]);
    });
  },
);
