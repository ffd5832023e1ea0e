import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { FAKE_CAMERA, openBrowser, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, openSignedIn, startDashboard, TOKEN, type DashboardServer } from "./support.ts";

const UPLOAD_BYTES = 12_000_000;
/** Time for the server to process a video on a busy machine. */
const PROCESSING = { timeout: 90_000 };

describe("the Stream pages", { skip: withoutChromium() || needsFfmpeg.skip }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  let file: string;
  before(async () => {
    const [started, folder, source] = await Promise.all([
      startDashboard(scope, { env: { REELPOST_STREAM_ALLOW_PRIVATE: "true" } }),
      temporaryFolder(scope, "video"),
      clip({ seconds: 4 }).then((path) => readFile(path)),
    ]);
    dashboard = started;
    file = join(folder, "holiday.mp4");
    await writeFile(file, padded(source, UPLOAD_BYTES));
  });

  test("an upload that is paused continues after a reload, and the video plays", { timeout: 240_000 }, async () => {
    const { page, context, problems } = await dashboard.open("/stream");
    await page.getByText("No videos yet").waitFor();
    await check(page, "stream-empty");
    const network = await context.newCDPSession(page);
    const limitUpload = (uploadThroughput: number) =>
      network.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput,
      });
    await limitUpload(1_500_000);
    await choose(page, page.getByRole("button", { name: "Upload videos" }).first(), file);
    await page
      .getByText(/^[1-9]\d%/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Pause holiday.mp4" }).click();
    await page.getByText(/^Paused at \d+%$/).waitFor();
    await check(page, "stream-upload-paused");
    await page.reload();
    await limitUpload(-1);
    await page.getByText("upload was interrupted").waitFor();

    const offsets: number[] = [];
    page.on("request", (request) => {
      if (request.method() === "PATCH") offsets.push(Number(request.headers()["upload-offset"]));
    });
    await choose(page, page.getByRole("button", { name: "Select holiday.mp4 again to resume" }), file);
    await page.getByText("Uploaded", { exact: true }).waitFor(PROCESSING);
    assert.ok(offsets[0]! > 0 && offsets[0]! < UPLOAD_BYTES, `resumed at ${offsets.join()}`);
    await page.getByRole("list", { name: "Videos" }).getByText("Ready", { exact: true }).waitFor(PROCESSING);
    await check(page, "stream-grid");
    await page.getByText("Table", { exact: true }).click();
    await page.getByRole("table", { name: "Videos" }).getByRole("link", { name: "holiday.mp4" }).waitFor();
    await check(page, "stream-table");

    await page.getByLabel("Search videos").fill("mountain");
    await page.getByText("No videos match").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("checkbox", { name: "Select holiday.mp4" }).check();
    await page.getByRole("button", { name: "Require signed URLs" }).click();
    await page.getByText("1 video saved").waitFor();

    await page.getByRole("link", { name: "Open video" }).click();
    await page.getByRole("heading", { level: 1, name: "holiday.mp4" }).waitFor();
    await plays(page, "Player for holiday.mp4");
    await check(page, "stream-video");
    assert.deepEqual(problems, []);
  });

  test("captions, a clip, access rules and a thumbnail of a video", { timeout: 240_000 }, async (t) => {
    const uid = await uploadVideo("short.mp4");
    const { page, problems } = await dashboard.open(`/stream/${uid}/tracks`);
    await page.getByText("No captions yet").waitFor();
    await page.getByRole("button", { name: "Upload captions" }).click();
    const captions = join(await temporaryFolder(t as never, "captions"), "en.vtt");
    await writeFile(captions, "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n\n00:01.000 --> 00:02.000\nWorld\n");
    await choose(page, page.getByRole("button", { name: "File" }), captions);
    await page.getByRole("dialog").getByRole("button", { name: "Upload captions" }).click();
    await page.getByRole("button", { name: "Actions for captions in English" }).click();
    await page.getByRole("menuitem", { name: "Edit cues" }).click();
    await page.getByLabel("Text of cue 2").fill("everyone");
    await check(page, "stream-cues");
    await page.getByRole("button", { name: "Save captions" }).click();
    await page.getByText("Captions in English saved").waitFor();
    const response = await fetch(`${dashboard.api}/accounts/${dashboard.account}/stream/${uid}/captions/en/vtt`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    assert.match(await response.text(), /00:01\.000 --> (00:)?00:02\.000\neveryone/);
    await check(page, "stream-tracks");

    await page.getByRole("tab", { name: "Access" }).click();
    await page.getByRole("switch", { name: "Require signed URLs" }).check({ force: true });
    await page.getByRole("button", { name: "Save access settings" }).click();
    await page.getByText("Access settings saved").waitFor();
    await page.getByRole("button", { name: "Add rule" }).click();
    await page.getByRole("combobox", { name: "Viewers" }).click();
    await page.getByRole("option", { name: "IP addresses" }).click();
    await page.getByRole("combobox", { name: "IP addresses or networks" }).fill("127.0.0.0/8");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign URL" }).click();
    await plays(page, "Player for short.mp4 with the signed URL");
    await check(page, "stream-access");

    await page.getByRole("tab", { name: "Encoding" }).click();
    await page.getByRole("table", { name: "Renditions" }).getByText("180").first().waitFor();
    await check(page, "stream-encoding");

    await page.getByRole("tab", { name: "Thumbnail and clip" }).click();
    await page.getByLabel("End", { exact: true }).last().fill("2");
    await page.getByLabel("Clip name").fill("First half");
    await check(page, "stream-clip");
    await page.getByRole("button", { name: "Create clip" }).click();
    await page.getByRole("heading", { level: 1, name: "First half" }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("watermarks, signing keys, webhooks with their deliveries, and usage", { timeout: 120_000 }, async (t) => {
    const received: string[] = [];
    const endpoint = createServer((request, response) => {
      request.setEncoding("utf8").on("data", (body: string) => received.push(body));
      request.on("end", () => response.writeHead(200).end("thanks"));
    });
    await new Promise<void>((resolve) => void endpoint.listen(0, "127.0.0.1", resolve));
    t.after(() => void endpoint.close());
    const { page, problems } = await dashboard.open("/stream/watermarks");
    await page.getByText("No watermarks yet").waitFor();
    await page.getByRole("button", { name: "Create watermark" }).first().click();
    await check(page, "stream-watermark-form");
    await page.keyboard.press("Escape");

    await page.getByRole("navigation").getByRole("link", { name: "Signing keys" }).click();
    await page.getByText("No signing keys yet").waitFor();
    await page.getByRole("button", { name: "Create signing key" }).first().click();
    await page.getByText("The private key is shown only now.").waitFor();
    await check(page, "stream-key-created");
    await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
    await page.getByRole("table", { name: "Signing keys" }).waitFor();

    await page.getByRole("navigation").getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("No webhooks yet").waitFor();
    await page.getByRole("button", { name: "Create webhook" }).first().click();
    await page.getByLabel("URL").fill(`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/events`);
    await page.getByRole("dialog").getByRole("button", { name: "Create webhook" }).click();
    await page.getByRole("table", { name: "Webhooks" }).getByRole("link").click();
    await page.getByRole("button", { name: "Send test event" }).click();
    const deliveries = page.getByRole("table", { name: "Deliveries" });
    await deliveries.getByText("test").click();
    await page.getByRole("dialog").getByText("Payload").waitFor();
    await check(page, "stream-delivery");
    await page.getByRole("button", { name: "Resend event" }).click();
    await page.getByText("Event resent").waitFor();
    await check(page, "stream-webhook");

    await page.getByRole("navigation").getByRole("link", { name: "Delivery" }).click();
    const { customerCode } = await dashboard.call<{ customerCode: string }>(
      "GET",
      `/accounts/${dashboard.account}/stream/delivery`,
    );
    await page.getByText(customerCode, { exact: true }).waitFor();
    await check(page, "stream-delivery-domain");

    await page.getByRole("navigation").getByRole("link", { name: "Usage" }).click();
    await page.getByText("Stored", { exact: true }).waitFor();
    await page.getByRole("figure", { name: /^Views per day/ }).waitFor();
    await check(page, "stream-usage");
    assert.deepEqual(problems, []);
  });

  test("a camera is broadcast from one page and watched in another", { timeout: 240_000 }, async () => {
    const { page, problems } = await dashboard.open("/live");
    await page.getByText("No live inputs yet").waitFor();
    await page.getByRole("button", { name: "Create live input" }).first().click();
    await page.getByLabel("Name").fill("Studio");
    await check(page, "live-form");
    await page.getByRole("dialog").getByRole("button", { name: "Create live input" }).click();
    await page.getByRole("heading", { level: 1, name: "Studio" }).waitFor();
    await page.getByText("The preview starts when an encoder connects.").waitFor();
    const key = page.getByText("•".repeat(24)).first();
    await page.getByRole("button", { name: "Show stream key" }).click();
    await key.waitFor({ state: "hidden" });
    await check(page, "live-input");

    const camera = await openBrowser(scope, FAKE_CAMERA);
    const publisher = await openSignedIn(camera, dashboard.origin, `${new URL(page.url()).pathname}/broadcast`);
    await publisher.page.getByRole("button", { name: "Turn on camera" }).click();
    await publisher.page.getByRole("button", { name: "Start broadcast" }).click();
    await publisher.page.getByRole("button", { name: "End broadcast" }).waitFor({ timeout: 30_000 });
    await plays(page, "Preview of Studio");
    await check(publisher.page, "live-broadcast");
    await check(page, "live-preview");

    await page.getByRole("tab", { name: "Health" }).click();
    await page.getByRole("figure", { name: /^Bitrate \(kbit\/s\): Video \d/ }).waitFor({ timeout: 30_000 });
    await check(page, "live-health");
    await page.getByRole("tab", { name: "Outputs" }).click();
    await page.getByRole("button", { name: "Create output" }).click();
    await page.getByLabel("Server").fill("rtmp://127.0.0.1:9/app");
    await page.getByLabel("Stream key").fill("sesame1234");
    await page.getByRole("dialog").getByRole("button", { name: "Create output" }).click();
    await page.getByRole("table", { name: "Outputs" }).getByText("rtmp://127.0.0.1:9/app").waitFor();
    await check(page, "live-outputs");

    await page.getByRole("button", { name: "Disconnect encoder" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect encoder" }).click();
    await page.getByText("Encoder disconnected").waitFor();
    await page.getByText("Offline", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Recordings and history" }).click();
    await page.getByRole("table", { name: "History" }).getByText("Connected").first().waitFor();
    await page.getByRole("table", { name: "Recordings" }).getByRole("link").first().waitFor();
    await check(page, "live-recordings");
    await page.goto(`${dashboard.origin}/live`);
    await page.getByRole("link", { name: "Studio" }).waitFor();
    await check(page, "live-inputs");
    assert.deepEqual(problems, []);
  });

  /** Uploads a small video through the API and waits until it is ready. */
  async function uploadVideo(name: string): Promise<string> {
    const body = new FormData();
    body.set(
      "file",
      new Blob([new Uint8Array(await readFile(await clip({ seconds: 4 })))], { type: "video/mp4" }),
      name,
    );
    const response = await fetch(`${dashboard.api}/accounts/${dashboard.account}/stream`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
      body,
    });
    const { result } = (await response.json()) as { result: { uid: string } };
    const { page, context } = await dashboard.open(`/stream/${result.uid}`);
    await page.getByText("Ready", { exact: true }).waitFor(PROCESSING);
    await context.close();
    return result.uid;
  }
});

/** Checks the page without the tooltip of the control that was clicked last. */
async function check(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.getByRole("tooltip").waitFor({ state: "detached" });
  await checkPage(page, name);
}

/** Chooses a file as a user does: with the dialog that the button opens. */
async function choose(page: Page, button: ReturnType<Page["getByRole"]>, path: string): Promise<void> {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), button.click()]);
  await chooser.setFiles(path);
}

/** Resolves when the player in the frame plays. */
async function plays(page: Page, title: string): Promise<void> {
  const frame = page.frameLocator(`iframe[title="${title}"]`);
  for (const begun = Date.now(); ; await sleep(100)) {
    // The player replaces its video element when it changes its source.
    const position = await frame
      .locator("video")
      .first()
      .evaluate((element) => {
        const media = element as unknown as { currentTime: number; muted: boolean; play(): Promise<void> };
        media.muted = true;
        void media.play().catch(() => {});
        return media.currentTime;
      })
      .catch(() => 0);
    if (position > 0.2) return;
    if (Date.now() - begun > PROCESSING.timeout)
      assert.fail(`${title} does not play: ${await frame.locator("body").innerText()}`);
  }
}

/** ISO 14496-12 8.1.2: readers ignore a `free` box, which makes a large file of a small video. */
function padded(video: Buffer, size: number): Buffer {
  const free = Buffer.alloc(size - video.length);
  free.writeUInt32BE(free.length, 0);
  free.write("free", 4, "latin1");
  return Buffer.concat([video, free]);
}
