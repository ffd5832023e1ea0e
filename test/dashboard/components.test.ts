import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { bundleDashboard } from "../../src/dashboard/bundle.ts";
import { createDashboardFiles } from "../../src/dashboard/files.ts";
import { createDashboard } from "../../src/dashboard/index.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { openBrowser, withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, openSignedIn, type OpenedPage } from "./support.ts";

describe("the shared components", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let open: () => Promise<OpenedPage>;
  before(async () => {
    const browser = await openBrowser(scope);
    const dashboard = createDashboard({
      mode: "dev",
      version: "0",
      api: { handle: (_, response) => void response.writeHead(404).end() },
      hosts: [],
      urls: () => ({ api: "http://localhost:1", upload: "http://localhost:1" }),
      log: silentLog,
      files: createDashboardFiles({
        log: silentLog,
        load: () => bundleDashboard(join(import.meta.dirname, "../../web/dashboard"), "gallery/main.tsx"),
      }),
    });
    const { url } = await dashboard.listen({ host: "127.0.0.1", port: 0 });
    scope.after(() => dashboard.close());
    open = () => openSignedIn(browser, url, "/", { token: null });
  });

  test("have no violations that axe finds and fit into a narrow window", async () => {
    const { page, problems } = await open();
    await page.getByRole("heading", { name: "Components" }).waitFor();
    await page.frameLocator("iframe").locator("#text").waitFor();
    await page.locator("canvas").nth(1).waitFor();
    await checkPage(page, "components");
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.getByRole("dialog").getByLabel("Name").waitFor();
    await checkPage(page, "components-form");
    // The frame blocks the script and the remote image of the message, and this server has no events.
    const blocked = problems.filter((problem) => /Content Security Policy/.test(problem));
    assert.ok(blocked.length >= 2, problems.join("\n"));
    assert.deepEqual(
      problems.filter((problem) => !blocked.includes(problem) && !problem.endsWith("/events")),
      [],
    );
  });

  test("show the failure and the fix of the API, and keep the form open", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Create rule" }).click();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Raise outbound.max_queued.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Fail to send" }).click();
    await page.getByText("Could not send the message").waitFor();
    await page.getByRole("button", { name: "Send message" }).click();
    await page.getByText("Message sent").waitFor();
    await checkPage(page, "components-messages");
  });

  test("ask for confirmation, and for the name of the item where it matters", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Delete video", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete video" });
    assert.equal(await dialog.getByRole("button", { name: "Delete video" }).isDisabled(), true);
    await dialog.getByLabel("Enter intro to confirm").fill("intro");
    await dialog.getByRole("button", { name: "Delete video" }).click();
    await dialog.waitFor({ state: "hidden" });
  });

  test("in a narrow table, the content of each card is aligned with its padding, with and without checkboxes", async () => {
    const { page } = await open();
    await page.setViewportSize({ width: 390, height: 844 });
    const startOf = async (table: string, cell: number) => {
      const row = page.getByRole("table", { name: table }).locator("tbody tr").first();
      return (await row.locator("td").nth(cell).boundingBox())!.x - (await row.boundingBox())!.x;
    };
    assert.equal(await startOf("Files", 0), 12);
    assert.equal(await startOf("Files", 1), 12);
    assert.equal(await startOf("Videos", 0), 12);
    assert.ok((await startOf("Videos", 1)) > 30, "next to the checkbox");
  });

  test("show secrets on request", async () => {
    const { page } = await open();
    assert.equal(await page.getByText("loaded_0123456789").count(), 0);
    await page.getByRole("button", { name: "Show signing key" }).click();
    await page.getByText("loaded_0123456789").waitFor();
    await page.getByRole("button", { name: "Hide signing key" }).click();
    await page.getByText("loaded_0123456789").waitFor({ state: "detached" });
  });
});
