import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../../../test/support/browser.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { ACCOUNT, openUploadsFixture, type UploadsFixture, VIDEO_HEAD } from "../uploads/uploads.testing.ts";
import { testModel } from "../videos/videos.testing.ts";
import { createPlayer } from "./player.ts";
import { sharedAssets } from "./player.testing.ts";

const MIB = 1024 * 1024;
/** Size of one request; the file needs two. */
const CHUNK_MB = 5;
const FILE = {
  name: "Holiday.mp4",
  mimeType: "video/mp4",
  buffer: Buffer.concat([VIDEO_HEAD, Buffer.alloc(7 * MIB, "reel")]),
};

describe("the upload page with real uploads", { skip: withoutChromium() }, () => {
  let world: UploadsFixture;
  let browser: Browser;
  let folder: string;
  let later = 0;
  let limit = 100 * MIB;
  const ends: (() => Promise<void>)[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "reelpost-upload-page-"));
    const player = createPlayer({
      access: { check: () => Promise.reject(new Error("not expected in this test")) },
      assets: sharedAssets,
      address: () => "127.0.0.1",
      origin: () => "http://127.0.0.1",
      log: silentLog,
    });
    world = await openUploadsFixture({
      folder,
      clock: { ...systemClock, now: () => systemClock.now() + later },
      more: {
        settings: { upload_gb: 1, basic_upload_mb: 8, chunk_mb: CHUNK_MB },
        page: (request, response, page) => player.uploadPage(request, response, { ...page, maxBytes: limit }),
      },
    });
    ends.push(world.close, () => rm(folder, { recursive: true }));
    browser = await openBrowser({ after: (end) => void ends.unshift(end) });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  async function open(url: string): Promise<{ page: Page; problems: string[]; offsets: number[] }> {
    const opened = await openPage(browser);
    const offsets: number[] = [];
    // Delivery serves these assets in addition to the uploads.
    await opened.page.route("**/embed/assets/*", async (route) => {
      const { asset } = (await sharedAssets.find(new URL(route.request().url()).pathname.split("/").at(-1)!))!;
      await route.fulfill({ body: asset.body, contentType: asset.type });
    });
    opened.page.on("request", (request) => {
      if (request.method() === "PATCH") offsets.push(Number(request.headers()["upload-offset"]));
    });
    await opened.page.goto(url);
    return { ...opened, offsets };
  }

  /** Simulates `stream/processing` step by step. */
  async function process(uid: string) {
    await world.videos.modelled(uid, testModel());
    await world.videos.playable(uid);
    await world.videos.finished(uid);
  }

  const direct = () => world.uploads.direct(ACCOUNT, { maxDurationSeconds: 600 });
  /** Resolves with a file on disk, with a fixed modification time, so that choosing it again yields the same file. */
  async function onDisk({ buffer, day }: { buffer: Buffer; day: number }): Promise<string> {
    const path = join(folder, String(day), FILE.name);
    await mkdir(join(folder, String(day)));
    await writeFile(path, buffer);
    await utimes(path, day * 86_400, day * 86_400);
    return path;
  }
  /** Bytes per second; 0: unlimited. */
  async function throttle(page: Page, rate: number) {
    const session = await page.context().newCDPSession(page);
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: rate === 0 ? -1 : rate,
    });
  }

  async function sendSome(page: Page, file: string) {
    await throttle(page, 2 * MIB);
    await page.setInputFiles("input", file);
    // Clicks inside the page: on a busy machine a round trip per step could take longer than the upload.
    await page.evaluate(`new Promise((resolve) => {
      const timer = setInterval(() => {
        const pause = [...document.querySelectorAll("button")].find((button) => button.textContent === "Pause");
        const percent = Number(document.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow"));
        if (pause === undefined || !(percent > 20)) return;
        clearInterval(timer);
        pause.click();
        resolve();
      }, 10);
    })`);
    await page.getByText("· paused").waitFor();
  }

  test("pauses an upload, and resumes it after the page was closed", async () => {
    const { video, uploadUrl } = await direct();
    const file = await onDisk({ buffer: FILE.buffer, day: 1 });
    const { page } = await open(uploadUrl);
    await sendSome(page, file);
    assert.match(await page.title(), /^\d+% – Upload$/);
    await page.close();

    const again = await open(uploadUrl);
    await again.page.setInputFiles("input", file);
    await again.page.getByText("Your video is being processed").waitFor();
    assert.ok(again.offsets[0]! > 0, String(again.offsets));
    assert.deepEqual(await world.source(video.uid), FILE.buffer);
    assert.equal((await world.videos.find(video.uid))!.meta["name"], FILE.name);
    await process(video.uid);
    await again.page.getByText("Your video is ready").waitFor();
    assert.equal(
      new URL((await again.page.getByText("Watch video").getAttribute("href"))!).pathname,
      `/${video.uid}/watch`,
    );
    await again.page.reload();
    await again.page.getByText("Your video is ready").waitFor();
  });

  test("uploads a different file of the same name and size from the start, in chunks of the size that the server accepts", async () => {
    const { video, uploadUrl } = await direct();
    const { page } = await open(uploadUrl);
    await sendSome(page, await onDisk({ buffer: FILE.buffer, day: 2 }));
    await page.close();

    const other = Buffer.concat([VIDEO_HEAD, Buffer.alloc(7 * MIB, "leer")]);
    const again = await open(uploadUrl);
    await again.page.setInputFiles("input", await onDisk({ buffer: other, day: 3 }));
    await again.page.getByText("Your video is being processed").waitFor();
    assert.deepEqual(again.offsets, [0, CHUNK_MB * MIB]);
    assert.deepEqual(await world.source(video.uid), other);
  });

  test("shows why a file failed and accepts another one at the same URL", async () => {
    const { video, uploadUrl } = await direct();
    const { page } = await open(uploadUrl);
    await page.setInputFiles("input", { ...FILE, buffer: Buffer.concat([VIDEO_HEAD, Buffer.alloc(1000, "x")]) });
    await page.getByText("Your video is being processed").waitFor();
    await world.videos.failed(
      video.uid,
      "ERR_MALFORMED_VIDEO",
      "The video was deemed to be corrupted or malformed. It has no packets.",
    );
    await page.getByText("This file cannot be used").waitFor();
    assert.equal(
      await page.getByRole("alert").filter({ visible: true }).innerText(),
      "The video was deemed to be corrupted or malformed. It has no packets.",
    );
    // The reason is still displayed after a reload.
    await page.reload();
    await page.getByText("It has no packets.").waitFor();
    await page.getByRole("button", { name: "Choose another file" }).click();
    await page.setInputFiles("input", FILE);
    await page.getByText("Your video is being processed").waitFor();
    await process(video.uid);
    await page.getByText("Your video is ready").waitFor();
    assert.deepEqual(await world.source(video.uid), FILE.buffer);
  });

  test("shows the server's reason for a file that content sniffing rejects", async () => {
    const { uploadUrl } = await direct();
    const { page } = await open(uploadUrl);
    await page.setInputFiles("input", {
      name: "renamed.mp4",
      mimeType: "video/mp4",
      buffer: Buffer.from("plain text under a video's name\n".repeat(300)),
    });
    await page.getByText("This file cannot be used").waitFor();
    assert.match(
      await page.getByRole("alert").filter({ visible: true }).innerText(),
      /The file is not a video: it is text/,
    );
    await page.getByRole("button", { name: "Choose another file" }).click();
    await page.setInputFiles("input", { ...FILE, buffer: VIDEO_HEAD });
    await page.getByText("Your video is being processed").waitFor();
  });

  test("accepts a file dropped anywhere on the page", async () => {
    const { video, uploadUrl } = await direct();
    const { page, problems } = await open(uploadUrl);
    await page.evaluate(`{
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(${JSON.stringify([...VIDEO_HEAD])}), "x".repeat(1000)], "dropped.mp4", { type: "video/mp4" }));
      for (const type of ["dragenter", "dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
    }`);
    await page.getByText("Your video is being processed").waitFor();
    assert.equal((await world.source(video.uid))!.length, VIDEO_HEAD.length + 1000);
    // The check whether an upload had started returns 404, which the console reports.
    assert.deepEqual(
      problems.filter((problem) => !problem.includes("404")),
      [],
    );
  });

  test("reports an unacceptable file before sending it, and shows the server's own error text after sending", async () => {
    limit = MIB;
    const { uploadUrl } = await direct();
    const { page, offsets } = await open(uploadUrl);
    await page.setInputFiles("input", { ...FILE, buffer: Buffer.alloc(0) });
    await page.getByText("This file is empty.").waitFor();
    await page.setInputFiles("input", {
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("not a video at all, just some words\n".repeat(200)),
    });
    await page.getByText("This file is not a video.").waitFor();
    await page.setInputFiles("input", { ...FILE, buffer: Buffer.alloc(2 * MIB, 1) });
    await page.getByText("the maximum is 1 MB").waitFor();
    later += 3_600_000;
    await page.setInputFiles("input", { ...FILE, buffer: VIDEO_HEAD });
    await page.getByText("The upload stopped").waitFor();
    assert.match(await page.getByRole("alert").filter({ visible: true }).innerText(), /expired/);
    assert.deepEqual(offsets, []);
    await page.getByText("Choose another file").filter({ visible: true }).click();
    await page.getByText("Drop a video here").waitFor();
  });

  test("reports an expired link", async () => {
    const { uploadUrl } = await direct();
    later += 3_600_000;
    const { page } = await open(uploadUrl);
    await page.getByText("This upload link has expired").waitFor();
    assert.equal(await page.locator("input").isVisible(), false);
  });
});
