import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../../../test/support/browser.ts";
import { needsFfmpeg } from "../../../test/support/media.ts";
import { sendErrorResponse, httpError } from "../delivery/refusal.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "../videos/video.ts";
import { startStaticDelivery, someVideo, type StaticDelivery, until } from "./player.testing.ts";
import type { UploadPageConfig } from "./upload-config.ts";

/** Folder for screenshots, for manual review. */
const SHOTS = process.env["REELPOST_SCREENSHOTS"];
const FRAME = { width: 960, height: 540 };
const DETAILS = {
  title: "The mill",
  share_link: "https://example.com/mill",
  channel_link: "https://example.com",
  logo: null,
};

/** A playlist with the uploaded file and two renditions, all from the test fixtures. */
const MANIFEST = `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=640x360,CODECS="avc1.42c01e"
source.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=640x360,CODECS="avc1.42c01e"
high.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180,CODECS="avc1.42c00c"
low.m3u8
`;

describe("axe reports no violations on", { skip: withoutChromium() || needsFfmpeg.skip }, () => {
  let delivery: StaticDelivery;
  let browser: Browser;
  let axe: string;
  let count = 0;
  const ends: (() => Promise<void>)[] = [];

  before(async () => {
    delivery = await startStaticDelivery();
    ends.push(delivery.close);
    axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    browser = await openBrowser({ after: (end) => void ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** Resolves with all violations: rule, selector and axe's explanation. */
  async function violations(page: Page, name: string): Promise<string[]> {
    // Evaluated through the debugger: the page's Content-Security-Policy blocks injected scripts.
    await page.evaluate(`${axe};0`);
    const { violations: found } = (await page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] })",
    )) as AxeResults;
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png` });
    return found.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, failureSummary }) =>
          `${id}: ${target.flat().join(" ")} (${failureSummary?.replaceAll(/\s+/g, " ")})`,
      ),
    );
  }

  async function open(change: Partial<Video>, path: "iframe" | "watch", query = ""): Promise<Page> {
    const video = someVideo({ ...change, uid: String(++count).padStart(32, "0") });
    delivery.videos.set(video.uid, video);
    const { page } = await openPage(browser);
    await page.setViewportSize(FRAME);
    await page.goto(`${delivery.origin}/${video.uid}/${path}?${query}`);
    return page;
  }

  const playable = (page: Page) =>
    until(
      page,
      'document.querySelector("video").readyState > 0 && document.querySelector("video").textTracks.length > 1',
    );
  const pages: [name: string, get: () => Promise<Page>][] = [
    ["the player before playback", () => open({}, "iframe")],
    [
      "the player with captions",
      async () => {
        const page = await open(
          { publicDetails: DETAILS },
          "iframe",
          "muted=true&preload=metadata&defaultTextTrack=en",
        );
        await playable(page);
        return page;
      },
    ],
    [
      "the player during playback",
      async () => {
        const page = await open({}, "iframe", "muted=true&autoplay=true");
        await until(page, 'document.querySelector("video").currentTime > 0.2');
        return page;
      },
    ],
    [
      "the settings menu",
      async () => {
        const page = await open({}, "iframe", "muted=true&preload=metadata");
        await playable(page);
        await page.locator("media-settings-menu-button").click();
        return page;
      },
    ],
    [
      "the quality menu",
      async () => {
        const page = await open({}, "iframe", "muted=true&preload=metadata");
        await playable(page);
        await page.locator("media-settings-menu-button").click();
        await page.locator("media-settings-menu-item", { hasText: "Quality" }).first().click();
        return page;
      },
    ],
    [
      "the chapters menu",
      async () => {
        delivery.chapters.set(String(count + 1).padStart(32, "0"), [
          { start: 0, title: "Start" },
          { start: 6, title: "A chapter with a title that is too long for the menu of a player in a small frame" },
        ]);
        const page = await open({}, "iframe", "muted=true&preload=metadata");
        await playable(page);
        await page.locator("media-settings-menu-button").click();
        await page.locator("media-settings-menu-item", { hasText: "Chapters" }).first().click();
        return page;
      },
    ],
    [
      "the list of keyboard shortcuts",
      async () => {
        const page = await open({}, "iframe", "muted=true&preload=metadata");
        await playable(page);
        await page.keyboard.press("Shift+Slash");
        return page;
      },
    ],
    [
      "the watch page",
      async () => {
        const page = await open(
          { publicDetails: DETAILS, meta: { name: "mill.mp4", description: "A mill at the brook.\nRecorded in May." } },
          "watch",
          "muted=true",
        );
        await playable(page);
        return page;
      },
    ],
    [
      "the watch page of an audio-only video",
      () =>
        open(
          {
            input: { width: 0, height: 0 },
            model: {
              ...someModel(),
              audio: { stream: 0, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: true },
            },
            meta: { name: "Field recording" },
          },
          "watch",
        ),
    ],
    [
      "a video that is being processed",
      () => open({ state: "inprogress", readyToStream: false, pctComplete: 41 }, "watch"),
    ],
    [
      "a video whose upload is pending",
      () => open({ state: "pendingupload", readyToStream: false, pctComplete: 0 }, "iframe"),
    ],
    [
      "a failed video",
      () =>
        open({ state: "error", readyToStream: false, errorReason: { code: "ERR_NON_VIDEO", text: "no" } }, "iframe"),
    ],
    [
      "a delivery page without a video",
      () =>
        served((response) =>
          sendErrorResponse(response, {
            ...httpError(streamErrors.videoNotFound({ uid: "x" })),
            page: true,
            head: false,
          }),
        ),
    ],
    [
      "a delivery page that requires a token",
      () =>
        served((response) =>
          sendErrorResponse(response, { ...httpError(streamErrors.signedUrlNeeded()), page: true, head: false }),
        ),
    ],
    ...(
      [
        ["the upload page", { state: "open", maxBytes: 1e9, maxDurationSeconds: 600 }],
        ["the upload page during processing", { state: "processing", pctComplete: 41, playable: true, watch: "x" }],
        ["the upload page of a ready video", { state: "ready", watch: "x" }],
        [
          "the upload page of a rejected file",
          {
            state: "failed",
            problem: { code: "ERR_NON_VIDEO", text: "The file was not recognized as a valid video file.", retry: true },
          },
        ],
        ["an expired upload page", { state: "expired" }],
      ] as const satisfies [string, UploadPageConfig][]
    ).map(([name, config]): [string, () => Promise<Page>] => [name, () => upload(config)]),
  ];

  test("the keyboard shortcut list, which fits into 960 by 540 pixels", async () => {
    const page = await open({}, "iframe", "muted=true&preload=metadata");
    await playable(page);
    await page.keyboard.press("Shift+Slash");
    await page.locator(".keys").waitFor();
    for (const row of await page.locator(".keys h2, .keys dl > div").all()) {
      const box = (await row.boundingBox())!;
      assert.ok(
        box.y >= 0 && box.y + box.height <= FRAME.height && box.x >= 0 && box.x + box.width <= FRAME.width,
        `${await row.innerText()}: ${JSON.stringify(box)}`,
      );
    }
    await page.keyboard.press("Escape");
    await page.locator(".keys").waitFor({ state: "hidden" });
  });

  test("the quality menu, which starts with Auto and marks the uploaded file", async () => {
    const { uid } = someVideo();
    delivery.videos.set(uid, someVideo());
    delivery.overrides.set("manifest/source.m3u8", {
      status: 200,
      type: "application/vnd.apple.mpegurl",
      body: await (await fetch(`${delivery.origin}/${uid}/manifest/high.m3u8`)).text(),
    });
    delivery.overrides.set("manifest/video.m3u8", {
      status: 200,
      type: "application/vnd.apple.mpegurl",
      body: MANIFEST,
    });
    const page = await open({}, "iframe", "muted=true&preload=metadata");
    await until(page, 'document.querySelector("video").readyState > 0');
    delivery.overrides.delete("manifest/video.m3u8");
    await page.locator("media-settings-menu-button").click();
    await page.locator("media-settings-menu-item", { hasText: "Quality" }).first().click();
    const items = page.locator("quality-menu media-chrome-menu-item");
    await items.nth(3).waitFor({ state: "attached" });
    assert.deepEqual(
      (await items.allInnerTexts()).map((text) => text.trim().replace(/ \(.*\)$/, "")),
      ["Auto", "360p original", "360p", "180p"],
    );
    await items.nth(1).click();
    await until(page, 'document.querySelector("quality-menu").mediaRenditionSelected?.endsWith("-original")');
  });

  for (const scheme of ["light", "dark"] as const) {
    for (const [name, get] of pages) {
      if (scheme === "dark" && !name.includes("upload page")) continue;
      test(`${name}${scheme === "dark" ? ", dark" : ""}`, async () => {
        const page = await get();
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
        assert.deepEqual(await violations(page, `${name} ${scheme}`), []);
        await page.context().close();
      });
    }
  }

  async function served(answer: (response: Parameters<typeof sendErrorResponse>[0]) => void): Promise<Page> {
    const server = createServer((request, response) =>
      request.url === "/page" ? answer(response) : void response.writeHead(204).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.unshift(async () => void server.close());
    return (await openPage(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`)).page;
  }

  async function upload(config: UploadPageConfig): Promise<Page> {
    const server = createServer(async (request, response) => {
      if (request.url?.startsWith("/embed/") === true) return void (await delivery.player.handle(request, response));
      if (request.headers.accept?.includes("application/json") === true)
        return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(config));
      await delivery.player.uploadPage(request, response, config);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.unshift(async () => {
      server.closeAllConnections();
      server.close();
    });
    const { page } = await openPage(
      browser,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/upload/${"0".repeat(32)}/secretsecretsecret`,
    );
    await page.locator("h1").filter({ visible: true }).waitFor();
    return page;
  }
});

const someModel = () => ({
  version: 1 as const,
  duration: 12,
  source: { key: "x", format: "mov", start: 0, size: 1 },
  segments: { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: 300, count: 3 },
  ladder: [],
});
