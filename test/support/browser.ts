import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

/** Value for the `skip` option of a test. With REQUIRE_ALL=1, the test runs and fails instead. */
export const withoutChromium = (): string | false =>
  findChromium() === undefined && process.env["REQUIRE_ALL"] !== "1" && "Chromium is not installed";

/** A fake camera and microphone: a moving pattern with beeps, and no permission prompts. */
export const FAKE_CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

/** Limit of a wait in a page, on a busy machine. */
export const PATIENCE_MS = 60_000;

/**
 * Opens the system's Chromium without its user interface; closed when `scope` (a test context, or node:test's own
 * `after`) ends. Starting takes half a second: use one per test file.
 */
export async function openBrowser(
  scope: { after(end: () => Promise<void>): void },
  more: readonly string[] = [],
): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error("Chromium is not installed, and REQUIRE_ALL=1 forbids skipping: node scripts/system.ts test");
  const browser = await chromium.launch({
    executablePath,
    timeout: 120_000,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--mute-audio",
      "--autoplay-policy=no-user-gesture-required",
      ...more,
    ],
  });
  scope.after(() => browser.close());
  return browser;
}

/** Opens a page with its own browser context and a list of its errors: uncaught exceptions and console errors. */
export async function openPage(browser: Browser, url?: string): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ viewport: { width: 960, height: 640 } });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (err) => problems.push(String(err)));
  page.on("console", (message) => {
    // The message for a failed request contains the URL only in its location.
    if (message.type() === "error")
      problems.push([message.text(), message.location().url].filter(Boolean).join(" at "));
  });
  if (url !== undefined) await page.goto(url);
  return { page, problems };
}

/** Opens a third-party site on a loopback port: fixed pages, and files by path. Resolves with its origin. */
export async function openSite(
  scope: { after(end: () => Promise<void>): void },
  pages: Record<string, { type: string; body: string | Buffer } | { file: string; type: string }>,
): Promise<string> {
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const page = pages[request.url!.replace(/\?.*$/, "")];
    // Every browser requests an icon and reports a missing one as an error.
    if (page === undefined) return void response.writeHead(request.url === "/favicon.ico" ? 204 : 404).end();
    response.writeHead(200, { "content-type": page.type }).end("file" in page ? readFileSync(page.file) : page.body);
  };
  const server = createServer(respond);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  scope.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the path of a client installed in `test/clients`: `clientFile("hls.js/dist/hls.js")`. */
export const clientFile = (path: string): string => join(import.meta.dirname, "..", "clients", "node_modules", path);

/** The headless shell first: the same engine without the user interface takes a third of the processor time. */
const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

const findChromium = () => {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
};
