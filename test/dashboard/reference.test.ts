import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the API reference of the dashboard", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("creates and lists a namespace, authenticated by the dashboard session", async () => {
    const { page, context, problems } = await dashboard.open("/reference");
    await page.getByText("Base URL", { exact: true }).waitFor();
    await checkPage(page, "reference");
    await page.getByRole("searchbox").fill("kv namespace create");
    const operation = page.getByRole("link", { name: "POST Create a namespace" });
    await operation.click();
    await page.getByRole("heading", { level: 2, name: "Create a namespace" }).waitFor();
    assert.equal(await page.getByRole("textbox", { name: "account_id" }).inputValue(), dashboard.account);
    const body = page.getByRole("textbox", { name: "JSON body" });
    assert.deepEqual(JSON.parse(await body.inputValue()), { title: "…" });
    await body.fill("{");
    assert.equal(await page.getByRole("button", { name: "Send request" }).isDisabled(), true);
    await body.fill('{ "title": "tried" }');
    await page.getByRole("button", { name: "Send request" }).click();
    const response = page.getByRole("region", { name: "Response" });
    await response.filter({ hasText: '"title": "tried"' }).waitFor();
    await checkPage(page, "reference-operation");

    await page.getByRole("searchbox").fill("kv namespaces list");
    await page.getByRole("link", { name: "GET List namespaces" }).click();
    await page.getByRole("heading", { level: 2, name: "List namespaces" }).waitFor();
    await page.getByRole("button", { name: "Send request" }).click();
    await response.filter({ hasText: '"title": "tried"' }).waitFor();
    const [namespace] = await dashboard.call<{ title: string }[]>(
      "GET",
      `/accounts/${dashboard.account}/storage/kv/namespaces`,
    );
    assert.equal(namespace!.title, "tried");
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("shows the response of a failed request, and asks for confirmation before it sends a delete request", async () => {
    const { page, context } = await dashboard.open("/reference/workers-kv-namespace-remove-a-namespace");
    await page.getByRole("heading", { level: 2 }).waitFor();
    await page.getByText("Enter namespace_id.").waitFor();
    await page.getByRole("textbox", { name: "namespace_id" }).fill("0".repeat(32));
    await page.getByRole("button", { name: "Send request" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send DELETE request" }).click();
    await page.getByRole("region", { name: "Response" }).filter({ hasText: '"success": false' }).waitFor();
    await checkPage(page, "reference-failure");
    await context.close();
  });

  test("reports an operation that does not exist on this server", async () => {
    const { page, context } = await dashboard.open("/reference/none");
    await page.getByText("This server has no such operation").waitFor();
    await context.close();
  });
});
