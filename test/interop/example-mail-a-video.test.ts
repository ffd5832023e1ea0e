import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { createTransport } from "nodemailer";
import type { Browser } from "playwright-core";
import { filesIn, spawnDev, type ServerProcess } from "../e2e/dev-bench.ts";
import { openBrowser, openPage, withoutChromium } from "../support/browser.ts";
import { clip, mediaClips, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { createScope } from "./platform.ts";

const example = join(import.meta.dirname, "..", "..", "examples", "mail-a-video");

describe("examples/mail-a-video", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  const scope = createScope();
  let server: ServerProcess;
  let browser: Browser;
  after(() => scope.close());
  before(async () => {
    const folder = await temporaryFolder(scope, "mail-a-video");
    server = await spawnDev(scope, folder, [
      "--config",
      join(example, "wrangler.jsonc"),
      "--data-dir",
      join(folder, "data"),
    ]);
    browser = await openBrowser(scope);
  });

  const send = async (attachments: { filename: string; path?: string; content?: string }[]) => {
    const transport = createTransport({ ...server.ready.smtp!, secure: false, ignoreTLS: true });
    try {
      return await transport.sendMail({
        from: "Ada <ada@example.com>",
        to: "videos@example.net",
        subject: "The mill",
        text: "At work.",
        attachments,
      });
    } finally {
      transport.close();
    }
  };
  const replies = async () => (await filesIn(server.ready.mailDirectory)).filter((path) => path.endsWith(".html"));

  test("a video sent by email gets a reply with its thumbnail, and plays at the link in the reply", async () => {
    await send([{ filename: "mill.mp4", path: await clip(mediaClips.plain) }]);
    const [reply, ...more] = await replies();
    assert.deepEqual(more, []);
    const { page, problems } = await openPage(browser, pathToFileURL(reply!).href);
    const picture = page.locator("img[alt='Watch mill.mp4']");
    const width = () =>
      picture.evaluate(async (image: { decode(): Promise<void>; naturalWidth: number }) =>
        image.decode().then(() => image.naturalWidth),
      );
    assert.equal(await width(), 480, "16:9, 270 high");
    await page.getByText("Watch mill.mp4", { exact: true }).click();
    const video = page.locator("video");
    const seconds = await video.evaluate(async (playing: { play(): Promise<void>; currentTime: number }) => {
      await playing.play();
      while (playing.currentTime < 1) await new Promise((resolve) => setTimeout(resolve, 20));
      return playing.currentTime;
    });
    assert.ok(seconds >= 1);
    assert.deepEqual(problems, []);
  });

  test("a file that only has the name of a video is reported to its sender; a message without a file is rejected", async () => {
    const before = await replies();
    await send([{ filename: "notes.mp4", content: "These are no pictures at all.\n".repeat(100) }]);
    const [reply] = (await replies()).filter((path) => !before.includes(path));
    const { page } = await openPage(browser, pathToFileURL(reply!).href);
    assert.match(await page.locator("body").innerText(), /notes\.mp4 could not be published: The file is not a video/);
    await assert.rejects(send([]), /There is no video attached to this message/);
  });
});
