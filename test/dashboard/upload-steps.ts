import assert from "node:assert/strict";
import { truncate, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { checkPage, type DashboardServer } from "./support.ts";

/** Time for the server to process a video on a busy machine. */
export const PROCESSING = { timeout: 90_000 };

/** Uploads holiday.mp4 to a server without videos: pauses at 10 %, reloads the page, resumes, and plays the video. */
export async function uploadInTwoVisits(
  dashboard: DashboardServer,
  { file, bytes }: { file: string; bytes: number },
): Promise<void> {
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
  // Slow enough that the pause comes long before the end, even if this process has to wait.
  await limitUpload(bytes / 20);
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
  assert.ok(offsets[0]! > 0 && offsets[0]! < bytes, `resumed at ${offsets.join()}`);
  assert.ok(offsets.length > 1, `the chunks begin at ${offsets.join()}`);
  await page.getByRole("list", { name: "Videos" }).getByText("Ready", { exact: true }).waitFor(PROCESSING);
  await page.getByRole("link", { name: "Open video" }).click();
  await page.getByRole("heading", { level: 1, name: "holiday.mp4" }).waitFor();
  await waitUntilPlaying(page, "Player for holiday.mp4");
  assert.deepEqual(problems, []);
}

/** Checks the page without the tooltip of the control that was clicked last. */
export async function check(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.getByRole("tooltip").waitFor({ state: "detached" });
  await checkPage(page, name);
}

/** Chooses a file as a user does: with the dialog that the button opens. */
export async function choose(page: Page, button: ReturnType<Page["getByRole"]>, path: string): Promise<void> {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), button.click()]);
  await chooser.setFiles(path);
}

/** Resolves when the player in the frame plays. */
export async function waitUntilPlaying(page: Page, title: string): Promise<void> {
  const frame = page.frameLocator(`iframe[title="${title}"]`);
  let lastState: MediaState | string = "";
  for (const begun = Date.now(); ; await sleep(100)) {
    // The player replaces its video element when it changes its source.
    const state = await frame
      .locator("video")
      .first()
      .evaluate(startAndRead)
      .catch((err: unknown) => String(err));
    if (typeof state === "object" && state.currentTime > 0.2) return;
    lastState = state;
    if (Date.now() - begun > PROCESSING.timeout)
      assert.fail(`${title} does not play: ${await frame.locator("body").innerText()} ${JSON.stringify(lastState)}`);
  }
}

/** The properties of a media element that explain why it does not play. */
interface MediaState {
  currentTime: number;
  paused: boolean;
  seeking: boolean;
  readyState: number;
  networkState: number;
  error: string | undefined;
  buffered: [start: number, end: number][];
}

/** Runs in the page. */
function startAndRead(element: unknown): MediaState {
  const media = element as Omit<MediaState, "error" | "buffered"> & {
    muted: boolean;
    error: { message: string } | null;
    buffered: { length: number; start(index: number): number; end(index: number): number };
    play(): Promise<void>;
  };
  media.muted = true;
  void media.play().catch(() => {});
  const { currentTime, paused, seeking, readyState, networkState, error, buffered } = media;
  return {
    currentTime,
    paused,
    seeking,
    readyState,
    networkState,
    error: error?.message,
    buffered: Array.from({ length: buffered.length }, (_, i) => [buffered.start(i), buffered.end(i)]),
  };
}

/** ISO 14496-12 8.1.2: readers ignore a `free` box, which turns a small video into a large, sparse file. */
export async function writePadded(path: string, video: Buffer, size: number): Promise<void> {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(size - video.length, 0);
  head.write("free", 4, "latin1");
  await writeFile(path, Buffer.concat([video, head]));
  await truncate(path, size);
}
