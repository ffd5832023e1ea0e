import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the documentation on the server", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("can be read page by page without signing in", async () => {
    const { page, context, problems } = await dashboard.open("/docs", { token: null });
    await checkPage(page, "docs-index");
    await page.getByRole("main").getByRole("link", { name: "Mail for your domains" }).click();
    await page.getByRole("heading", { level: 1, name: "Mail for your domains" }).waitFor();
    assert.equal(
      await page.getByRole("navigation", { name: "Documentation" }).locator("[aria-current=page]").innerText(),
      "Mail for your domains",
    );
    await checkPage(page, "docs-mail");
    await page.goto(`${dashboard.origin}/docs/settings`);
    await checkPage(page, "docs-settings");
    await page.goto(`${dashboard.origin}/docs/files/examples/video-site`);
    await checkPage(page, "docs-example");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByText("All pages").click();
    await page.locator("details").getByRole("link", { name: "Queues" }).click();
    await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("finds a setting by its name or a part of it, using the keyboard", async () => {
    const { page, context, problems } = await dashboard.open("/docs/mail", { token: null });
    await page.keyboard.press("/");
    await page.keyboard.type("dashboard.hosts");
    await page.getByRole("option").first().waitFor();
    await checkPage(page, "docs-search");
    await page.keyboard.press("Escape");
    await page.getByRole("listbox").waitFor({ state: "hidden" });
    const field = page.getByRole("combobox");
    await field.fill("watermark");
    const first = page.getByRole("option", { selected: true });
    await first.filter({ hasText: /watermark/i }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(({ pathname }) => /^\/docs\/\w/.test(pathname) && pathname !== "/docs/mail");
    await field.fill("zzzzqqqq");
    await page.getByText("Nothing found for “zzzzqqqq”.").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("prints a page without the navigation around it", async () => {
    const { page, context, problems } = await dashboard.open("/docs/mail", { token: null });
    await page.emulateMedia({ media: "print" });
    await page.getByRole("heading", { level: 1, name: "Mail for your domains" }).waitFor();
    for (const hidden of [page.getByRole("banner"), page.getByRole("navigation", { name: "Documentation" })])
      assert.equal(await hidden.count(), 0, "hidden elements have no role");
    assert.ok(await page.locator(".file").first().isVisible());
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("responds to an unknown path with an error page", async () => {
    const { page, context } = await dashboard.open("/docs/none", { token: null });
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await checkPage(page, "docs-not-found");
    await context.close();
  });
});
