import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the home page", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("shows health, what needs attention, metrics, endpoints and the first steps", async () => {
    const account = `/accounts/${dashboard.account}`;
    const { page, problems } = await dashboard.open("/");
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByText("0 of 5 done").waitFor();
    await page.getByRole("region", { name: "Needs attention" }).waitFor();
    await page.getByRole("heading", { level: 3, name: "Database" }).waitFor();
    for (const chart of ["Mail", "Workers", "Stream"])
      await page.getByRole("figure", { name: new RegExp(`^${chart} per hour: `) }).waitFor();
    await page.getByText("0 received, 0 sent, 0 rejected").waitFor();
    const endpoints = page.getByRole("region", { name: "Endpoints" });
    await endpoints
      .getByText(`:${new URL(dashboard.api).port}`)
      .first()
      .waitFor();
    await checkPage(page, "home-new");

    // Live: the item appears and the step completes without a reload.
    await dashboard.call("POST", "/zones", { name: "example.com", account: { id: dashboard.account } });
    await dashboard.call("POST", `${account}/email/routing/addresses`, { email: "ann@example.net" });
    await page.getByText("ann@example.net is not verified").waitFor();
    await steps.getByText("1 of 5 done").waitFor();
    assert.equal(await steps.getByRole("link", { name: "Create a zone" }).count(), 0);
    await checkPage(page, "home");
    assert.deepEqual(problems, []);
  });

  test("copies endpoints and opens the page of a step", async () => {
    const { page, context } = await dashboard.open("/");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    // The button is named so for a short time only.
    await Promise.all([
      page.getByRole("button", { name: "Copied" }).waitFor(),
      page.getByRole("button", { name: "Copy API" }).first().click(),
    ]);
    const copied = new URL(await page.evaluate<string>("navigator.clipboard.readText()"));
    assert.equal(copied.port, new URL(dashboard.api).port);
    await page.getByRole("link", { name: "Set a password or add a passkey" }).click();
    await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  });
});
