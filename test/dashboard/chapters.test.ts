import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { until } from "../support/mail-world.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { checkPage, startDashboard, TOKEN } from "./support.ts";
import { choose, PROCESSING } from "./upload-steps.ts";

interface ChapterList {
  chapters: { start: number; title: string }[];
}

test(
  "chapters are added at the position of the player, edited by keyboard, imported, exported and deleted",
  { skip: withoutChromium() || needsFfmpeg.skip, timeout: 240_000 },
  async (t) => {
    const dashboard = await startDashboard(t);
    const base = `/accounts/${dashboard.account}/stream`;
    const form = new FormData();
    form.set("file", new File([await readFile(await clip({ seconds: 4 }))], "talk.mp4", { type: "video/mp4" }));
    const upload = await fetch(`${dashboard.api}${base}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: form,
    });
    const { uid } = ((await upload.json()) as { result: { uid: string } }).result;
    const stored = async () =>
      (await dashboard.call<ChapterList>("GET", `${base}/${uid}/chapters`)).chapters.map(
        ({ start, title }) => `${start} ${title}`,
      );

    const { page, problems } = await dashboard.open(`/stream/${uid}`);
    await page.getByText("Ready", { exact: true }).waitFor(PROCESSING);
    await page.getByText("No chapters yet").waitFor();
    const player = page.frameLocator(".rp-stream-player");
    await player.locator("media-controller").waitFor();
    const add = page.getByRole("button", { name: "Add chapter at current position" });
    await add.focus();
    await page.keyboard.press("Enter");
    // The new row has the focus.
    await page.keyboard.type("Start");
    await player.locator("video").evaluate((video: { currentTime: number; play(): Promise<void> }) => video.play());
    await player.locator("video").evaluate(
      (video: EventTarget & { currentTime: number; pause(): void }) =>
        new Promise<void>((done) => {
          video.pause();
          video.addEventListener("seeked", () => done(), { once: true });
          video.currentTime = 2;
        }),
    );
    await add.click();
    assert.equal(await page.getByLabel("Start of chapter 2").inputValue(), "00:02.000");
    await page.getByRole("button", { name: "Save chapters" }).click();
    await page.getByText("Enter a title").waitFor();
    await page.getByLabel("Title of chapter 2").fill("Results");
    await page.getByLabel("Start of chapter 2").fill("0:02.5");
    await page.keyboard.press("Enter");
    await page.getByText("Chapters saved").waitFor();
    assert.deepEqual(await stored(), ["0 Start", "2.5 Results"]);
    await checkPage(page, "stream-chapters");
    // The player was reloaded, and shows the chapters.
    await player.locator("track[kind=chapters]").waitFor({ state: "attached" });

    await page.getByRole("button", { name: "Delete chapter 1" }).click();
    await page.getByLabel("Start of chapter 1").fill("9");
    await page.getByRole("button", { name: "Save chapters" }).click();
    await page.getByText("chapter 1 starts at 9 s, but the video ends at 4 s").waitFor();
    await page.getByRole("button", { name: "Discard changes" }).click();
    assert.equal(await page.getByLabel("Title of chapter 2").inputValue(), "Results");

    const file = join(await temporaryFolder(t, "chapters"), "chapters.vtt");
    await writeFile(file, "WEBVTT\n\n00:01.000 --> 00:02.000\nImported\n");
    await choose(page, page.getByRole("button", { name: "Import WebVTT" }), file);
    await page.getByText("1 chapter imported").waitFor();
    assert.deepEqual(await stored(), ["1 Imported"]);
    // The message appears before the page has loaded the imported list, which then discards changes.
    const imported = page.getByLabel("Title of chapter 1");
    await until(async () => (await imported.inputValue()) === "Imported", "the imported list of chapters");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export WebVTT" }).click(),
    ]);
    assert.match(await readFile(await download.path(), "utf8"), /^WEBVTT\n\n00:00:01\.000 --> .*\nImported\n$/);
    await page.getByRole("button", { name: "Delete chapter 1" }).click();
    await page.getByRole("button", { name: "Save chapters" }).click();
    // The page shows the empty list before it has been saved.
    await until(async () => (await stored()).length === 0, "the empty list of chapters");
    // The browser logs the rejected request.
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0]!, /status of 400 .*\/chapters$/);
  },
);
