import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, TOKEN, type DashboardServer } from "./support.ts";

describe("the shell of the dashboard", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("signs in with an API token, returns to the requested page and signs out in all tabs", async () => {
    const { page, context, problems } = await dashboard.open("/dns?search=a", { token: null });
    await page.waitForURL(/\/sign-in\?from=/);
    await page.getByLabel("API token", { exact: true }).waitFor();
    await checkPage(page, "sign-in");
    await page.getByLabel("API token", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Use an API token" }).click();
    await page.getByText("The sign-in failed").waitFor();
    await checkPage(page, "sign-in-rejected");
    await page.getByLabel("API token", { exact: true }).fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/dns\?search=a$/);
    await page.getByRole("heading", { level: 1, name: "DNS" }).waitFor();

    const other = await context.newPage();
    await other.goto(`${dashboard.origin}/dns`);
    await other.getByRole("heading", { level: 1, name: "DNS" }).waitFor();
    await page.getByRole("button", { name: /^Signed in as/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.waitForURL(/\/sign-in/);
    await other.waitForURL(/\/sign-in/);
    assert.deepEqual(await context.cookies(), []);
    // The browser logs the rejected token and the sign-out of a token.
    assert.deepEqual(
      problems.filter((problem) => !/status of 40\d/.test(problem)),
      [],
    );
  });

  test("opens the sign-in page with the reason when the session has expired", async () => {
    const { page } = await dashboard.open("/dns", { token: "no-longer-valid" });
    await page.getByText("Your session has ended").waitFor();
    await page.waitForURL(/\/sign-in\?from=/);
  });

  test("opens pages and commands from the keyboard", async () => {
    const { page, problems } = await dashboard.open("/dns");
    await page.getByRole("heading", { level: 1, name: "DNS" }).waitFor();
    await page.keyboard.press("Control+k");
    const search = page.getByLabel("Search pages and commands");
    await search.fill("settings");
    await page.getByRole("button", { name: "Settings", exact: true }).waitFor();
    await checkPage(page, "command-palette");
    await search.press("Enter");
    await page.waitForURL(/\/settings/);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    // Its field receives the keys as long as it is there.
    await search.waitFor({ state: "hidden" });
    // The second key must follow within about a second.
    await Promise.all([page.keyboard.press("g"), page.keyboard.press("d")]);
    await page.waitForURL(/\/dns$/);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Go to DNS").waitFor();
    await checkPage(page, "shortcuts");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
  });

  test("keeps the chosen color scheme and navigates on a narrow screen", async () => {
    const { page } = await dashboard.open("/dns", { viewport: { width: 390, height: 844 } });
    await page.getByRole("button", { name: "Open the navigation" }).click();
    await page.getByRole("button", { name: /^Color scheme/ }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    await page.locator("html[data-mantine-color-scheme=dark]").waitFor();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Workers" }).click();
    await page.waitForURL(/\/workers/);
    await page.getByRole("navigation", { name: "Main" }).waitFor({ state: "hidden" });
    await page.reload();
    await page.locator("html[data-mantine-color-scheme=dark]").waitFor();
  });

  test("shows an unknown page as not found", async () => {
    const { page } = await dashboard.open("/no-such-page");
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await checkPage(page, "not-found");
  });
});
