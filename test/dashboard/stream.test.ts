import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { FAKE_CAMERA, openBrowser, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { openSignedIn, startDashboard, TOKEN, type DashboardServer } from "./support.ts";
import { check, choose, waitUntilPlaying, PROCESSING, uploadInTwoVisits, writePadded } from "./upload-steps.ts";

const UPLOAD_BYTES = 40_000_000;
/**
 * Gives the page a small camera. It asks for 1280x720, whose encoding in a browser and on the server takes more than a
 * busy machine has.
 */
const SMALL_CAMERA = `
  const { mediaDevices } = navigator;
  const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices);
  mediaDevices.getUserMedia = (constraints) =>
    getUserMedia({ ...constraints, video: { width: 320, height: 180, frameRate: 10 } });
`;

/**
 * Parts leave memory after 24 seconds (rfc8216bis 6.2.2). A player on a busy machine may fall further behind and request
 * one, which the browser reports as a 404.
 */
const MISSING_PART = /status of 404 .*\/segments\/[\w-]+\/\d+\.\d+\.m4s$/;

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
    await writePadded(file, source, UPLOAD_BYTES);
  });

  test("an upload that is paused continues after a reload, and the video plays", { timeout: 240_000 }, () =>
    uploadInTwoVisits(dashboard, { file, bytes: UPLOAD_BYTES }),
  );

  test(
    "show the list as a grid and as a table, search it, and change selected videos",
    { timeout: 180_000 },
    async () => {
      const { page, problems } = await dashboard.open("/stream");
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

      await page.getByRole("table", { name: "Videos" }).getByRole("link", { name: "holiday.mp4" }).click();
      await page.getByRole("heading", { level: 1, name: "holiday.mp4" }).waitFor();
      await waitUntilPlaying(page, "Player for holiday.mp4");
      await page.getByText("Replace the video ID in the URL with a signed token.").waitFor();
      await check(page, "stream-video");
      assert.deepEqual(problems, []);
    },
  );

  test("a video is copied from a URL, and several videos are deleted", { timeout: 180_000 }, async (t) => {
    const video = await readFile(await clip({ seconds: 4 }));
    const url = await serveFile(t as never, video);
    const { page, problems } = await dashboard.open("/stream");
    const dialog = page.getByRole("dialog");
    for (const name of ["First copy", "Second copy"]) {
      await page.getByRole("button", { name: "Copy from URL" }).first().click();
      await dialog.getByLabel("URL", { exact: true }).fill(`${url}/${name === "First copy" ? 1 : 2}.mp4`);
      await dialog.getByLabel("Name").fill(name);
      if (name === "First copy") await check(page, "stream-copy-form");
      await dialog.getByRole("button", { name: "Copy video" }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByText("Ready", { exact: true }).waitFor(PROCESSING);
      await page.getByText("Embed code").waitFor();
      assert.equal(await page.getByText("Replace the video ID in the URL").count(), 0, "the video is public");
      await page.goto(`${dashboard.origin}/stream`);
    }
    for (const name of ["First copy", "Second copy"])
      await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    await page.getByText("2 selected").waitFor();
    await page.getByRole("button", { name: "Delete videos" }).click();
    await dialog.getByRole("button", { name: "Delete videos" }).click();
    await page.getByText("2 videos deleted").waitFor();
    await page.getByRole("link", { name: "First copy" }).waitFor({ state: "detached" });
    const names = await dashboard.call<{ meta: { name?: string } }[]>("GET", `/accounts/${dashboard.account}/stream`);
    assert.ok(!names.some(({ meta }) => /copy/.test(meta.name ?? "")));
    assert.deepEqual(problems, []);
  });

  test("manage captions, a clip, access rules and a thumbnail of a video", { timeout: 240_000 }, async (t) => {
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
    assert.equal(await page.getByLabel("Text of cue 2").inputValue(), "everyone");
    await page.getByRole("button", { name: "Save captions" }).click();
    await page.getByText("Captions in English saved").waitFor();
    const response = await fetch(`${dashboard.api}/accounts/${dashboard.account}/stream/${uid}/captions/en/vtt`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    assert.match(await response.text(), /00:01\.000 --> (00:)?00:02\.000\neveryone/);
    await check(page, "stream-tracks");

    await page.getByRole("tab", { name: "Access" }).click();
    await page.getByRole("switch", { name: "Require signed URLs" }).click({ force: true });
    await page.getByRole("button", { name: "Save access settings" }).click();
    await page.getByText("Access settings saved").waitFor();
    await page.getByRole("button", { name: "Add rule" }).click();
    await page.getByRole("combobox", { name: "Viewers" }).click();
    await page.getByRole("option", { name: "IP addresses" }).click();
    await page.getByRole("combobox", { name: "IP addresses or networks" }).fill("127.0.0.0/8");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign URL" }).click();
    await waitUntilPlaying(page, "Player for short.mp4 with the signed URL");
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

  test(
    "manage watermarks, signing keys and webhooks, and show deliveries and usage",
    { timeout: 180_000 },
    async (t) => {
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
      const logo = join(await temporaryFolder(t as never, "logo"), "logo.png");
      await page.screenshot({ path: logo, clip: { x: 0, y: 0, width: 64, height: 32 } });
      const form = page.getByRole("dialog");
      await choose(page, form.getByRole("button", { name: "Image" }), logo);
      await form.getByRole("textbox", { name: "Name" }).fill("Our logo");
      await form.getByRole("textbox", { name: "Opacity" }).fill("50");
      await form.getByRole("button", { name: "Create watermark" }).click();
      await page.getByRole("table", { name: "Watermarks" }).getByText("Our logo").waitFor();
      const [saved] = await dashboard.call<{ name: string; opacity: number; width: number; height: number }[]>(
        "GET",
        `/accounts/${dashboard.account}/stream/watermarks`,
      );
      assert.deepEqual([saved!.name, saved!.opacity, saved!.width, saved!.height], ["Our logo", 0.5, 64, 32]);

      await page.getByRole("navigation").getByRole("link", { name: "Signing keys" }).click();
      await page.getByText("No signing keys yet").waitFor();
      await page.getByRole("button", { name: "Create signing key" }).first().click();
      await page.getByText("The private key is shown only now.").waitFor();
      await check(page, "stream-key-created");
      await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
      await page.getByRole("table", { name: "Signing keys" }).waitFor();
      // Rotation: tokens of the old key stay valid until it is deleted.
      const readKeys = async () =>
        (await dashboard.call<{ id: string }[]>("GET", `/accounts/${dashboard.account}/stream/keys`)).map(
          ({ id }) => id,
        );
      const [oldKey] = await readKeys();
      await page.getByRole("button", { name: "Create signing key" }).first().click();
      await page.getByText("The private key is shown only now.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
      assert.equal((await readKeys()).length, 2);
      await page.getByRole("button", { name: `Delete ${oldKey}` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete signing key" }).click();
      // Not in the whole page: the tooltip of the button contains the key, too.
      await page.getByRole("table", { name: "Signing keys" }).getByText(oldKey!).waitFor({ state: "detached" });
      const keys = await readKeys();
      assert.ok(keys.length === 1 && keys[0] !== oldKey);

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
    },
  );

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
    const publisher = await openSignedIn(camera, dashboard.origin, `${new URL(page.url()).pathname}/broadcast`, {
      script: SMALL_CAMERA,
    });
    await publisher.page.getByRole("button", { name: "Turn on camera" }).click();
    await publisher.page.getByRole("button", { name: "Start broadcast" }).click();
    await publisher.page.getByRole("button", { name: "End broadcast" }).waitFor({ timeout: 60_000 });
    await waitUntilPlaying(page, "Preview of Studio");
    await check(publisher.page, "live-broadcast");
    await check(page, "live-preview");

    await page.getByRole("tab", { name: "Health" }).click();
    await page.getByRole("figure", { name: /^Bitrate \(kbit\/s\): Video \d/ }).waitFor({ timeout: 60_000 });
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
    assert.deepEqual(
      problems.filter((problem) => !MISSING_PART.test(problem)),
      [],
    );
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

/** Serves the file at every path of a loopback port. Resolves with the origin. */
async function serveFile(scope: { after(end: () => void): void }, body: Buffer): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "video/mp4", "content-length": body.length });
    response.end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  scope.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
