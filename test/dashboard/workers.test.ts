import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, TOKEN, type DashboardServer } from "./support.ts";

const workerSource = (version: string) => `// Version ${version}
import { greeting } from "./greeting.js";
export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    console.log("visited", pathname, { version: "${version}" });
    if (pathname.endsWith("/fail")) throw new TypeError("no such page");
    return new Response(greeting + " ${version}");
  },
  scheduled(controller) {
    console.log("scheduled by", controller.cron);
  },
};
`;
const GREETING = 'export const greeting = "hello from";\n';

describe("the pages of workers", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  let script: string;
  before(async () => {
    dashboard = await startDashboard(scope);
    script = `/accounts/${dashboard.account}/workers/scripts/shop`;
  });

  async function deploy(version: string) {
    const form = new FormData();
    const metadata = {
      main_module: "index.js",
      compatibility_date: "2026-01-01",
      bindings: [{ type: "plain_text", name: "SHOP", text: "books" }],
      keep_bindings: ["secret_text"],
      annotations: { "workers/message": `Release ${version}` },
    };
    form.set("metadata", JSON.stringify(metadata));
    form.set("index.js", new Blob([workerSource(version)], { type: "application/javascript+module" }), "index.js");
    form.set("greeting.js", new Blob([GREETING], { type: "application/javascript+module" }), "greeting.js");
    const response = await fetch(`${dashboard.api}${script}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: form,
    });
    assert.equal(response.status, 200, await response.text());
  }
  const request = async (path: string) => {
    const response = await fetch(`${new URL(dashboard.api).origin}/workers/shop${path}`);
    return response.text();
  };

  test("upload a worker: one module with the file dialog, one by drag and drop", async () => {
    const { page, problems } = await dashboard.open("/workers");
    await page.getByText("No workers yet").waitFor();
    await checkPage(page, "workers-empty");
    await page.getByRole("button", { name: "Upload worker" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Upload worker" }).click();
    await dialog.getByText("Enter a name").waitFor();
    await dialog.locator("input[type=file]").setInputFiles({
      name: "hello.mjs",
      mimeType: "text/javascript",
      buffer: Buffer.from(workerSource("0")),
    });
    const transfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(GREETING)}], "greeting.js", { type: "text/javascript" }));
      return transfer;
    })()`);
    await dialog.getByText("Drop modules here").dispatchEvent("drop", { dataTransfer: transfer });
    await dialog.getByLabel("Name").fill("hello");
    await dialog.getByRole("combobox", { name: "Main module" }).waitFor();
    await checkPage(page, "workers-upload");
    await dialog.getByRole("button", { name: "Upload worker" }).click();
    await page.getByRole("heading", { level: 1, name: "hello" }).waitFor();
    const response = await fetch(`${dashboard.api}/accounts/${dashboard.account}/workers/scripts/hello/content/v2`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const parts = await response.formData();
    assert.deepEqual([...parts.keys()].sort(), ["greeting.js", "hello.mjs"]);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("show a request in the open live logs, and filter, search, pause and download the logs", async () => {
    await deploy("1");
    await dashboard.call("POST", `${script}/subdomain`, { enabled: true });
    const { page, problems } = await dashboard.open("/workers/shop/logs");
    await page.getByText("Connected", { exact: true }).waitFor();
    assert.equal(await request("/first"), "hello from 1");
    const records = page.getByRole("list", { name: "Log entries" });
    await records.getByText(/visited \S*\/first {"version":"1"}/).waitFor();
    await request("/fail");
    await records
      .getByText(/TypeError: no such page/)
      .first()
      .waitFor();
    await records.getByRole("button", { expanded: false }).first().click();
    await checkPage(page, "workers-logs");

    await page.getByLabel("Search logs").fill("first");
    await records
      .getByText(/TypeError: no such page/)
      .first()
      .waitFor({ state: "detached" });
    assert.equal(await records.getByRole("listitem").count(), 1);
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "shop-logs.jsonl");
    const [line] = (await readFile(await download.path(), "utf8")).split("\n");
    assert.equal((JSON.parse(line!) as { outcome: string }).outcome, "ok");
    await page.getByLabel("Search logs").fill("");

    await page.getByRole("button", { name: "Pause" }).click();
    await request("/second");
    await page.getByRole("button", { name: "Resume (1 new)" }).click();
    await records.getByText(/visited .*second/).waitFor();

    await page.getByRole("button", { name: "Filter" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Text in a log line").fill("wanted");
    await checkPage(page, "workers-log-filter");
    const opening = page.waitForEvent("websocket");
    await dialog.getByRole("button", { name: "Apply filters" }).click();
    await opening;
    await page.getByRole("button", { name: "Filter (1)" }).waitFor();
    await page.getByText("Connected", { exact: true }).waitFor();
    await request("/other");
    await request("/wanted");
    await records.getByText(/visited .*\/wanted/).waitFor();
    assert.equal(await records.getByText(/visited .*\/other/).count(), 0);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("show code and differences, deploy gradually and roll back", async () => {
    await deploy("2");
    const { page, problems } = await dashboard.open("/workers/shop/code");
    await page.locator(".cm-content").getByText("// Version 2").waitFor();
    await page.getByRole("button", { name: /greeting\.js/ }).waitFor();
    await checkPage(page, "workers-code");
    await page.getByRole("combobox", { name: "Compare with" }).click();
    await page.getByRole("option", { name: /^Version 1 / }).click();
    await page.locator(".cm-deletedChunk").first().getByText("// Version 1").waitFor();
    await page.getByRole("button", { name: /greeting\.js .*unchanged/ }).waitFor();
    await checkPage(page, "workers-diff");

    await page.getByRole("tab", { name: "Deployments" }).click();
    const versions = page.getByRole("table", { name: "Versions" });
    await versions.getByRole("row", { name: /^2 .*100%/ }).waitFor();
    await page.getByRole("button", { name: "Deploy versions" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Remaining traffic" }).click();
    await page.getByRole("option", { name: /^Version 1 / }).click();
    const slider = dialog.getByRole("slider");
    await slider.focus();
    await page.keyboard.press("Home");
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowRight");
    await dialog.getByText("3% of the requests to version 2, 97% to version 1").waitFor();
    await checkPage(page, "workers-deploy");
    await dialog.getByRole("button", { name: "Deploy versions" }).click();
    await versions.getByRole("row", { name: /^2 .*3%/ }).waitFor();
    await versions.getByRole("row", { name: /^1 .*97%/ }).waitFor();

    await page.getByRole("button", { name: "Actions for version 1" }).click();
    await page.getByRole("menuitem", { name: "Roll back to this version" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await versions.getByRole("row", { name: /^1 .*100%/ }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.equal(await request("/"), "hello from 1");
    await checkPage(page, "workers-deployments");
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("manage secrets, bindings and settings", async () => {
    // A secret can only be created if the newest version is deployed.
    await deploy("3");
    const { page, problems } = await dashboard.open("/workers/shop/settings");
    await page.getByRole("button", { name: "Create secret" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("API_KEY");
    await dialog.getByLabel("Value", { exact: true }).fill("s3cret-value");
    await dialog.getByRole("button", { name: "Create secret" }).click();
    await page
      .getByRole("table", { name: "Secrets" })
      .getByRole("row", { name: /API_KEY/ })
      .waitFor();
    // The dialog, with its fields, is closed after the table has been loaded again.
    await dialog.waitFor({ state: "detached" });
    assert.doesNotMatch(await page.content(), /s3cret-value/);
    await page
      .getByRole("table", { name: "Bindings" })
      .getByRole("row", { name: /SHOP Text books/ })
      .waitFor();
    await page.getByLabel("Tags").fill("books, demo");
    await page.getByRole("button", { name: "Save tags" }).click();
    await page.getByText("Settings saved").waitFor();
    await checkPage(page, "workers-settings");
    assert.deepEqual(await dashboard.call("GET", `${script}/secrets`), [{ name: "API_KEY", type: "secret_text" }]);
    const settings = await dashboard.call<{ tags: string[] }>("GET", `${script}/settings`);
    assert.deepEqual(settings.tags, ["books", "demo"]);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("manage cron triggers, routes and domains", async () => {
    await dashboard.call("POST", "/zones", { name: "shop.test", account: { id: dashboard.account } });
    const { page, problems } = await dashboard.open("/workers/shop/triggers");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Create cron trigger" }).click();
    await dialog.getByLabel("Expression").fill("*/5 * * * *");
    await dialog.getByRole("button", { name: "Create cron trigger" }).click();
    await page
      .getByRole("table", { name: "Cron triggers" })
      .getByRole("row", { name: /in \d+ (minutes?|seconds?)|now/ })
      .waitFor();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("The handler finished: ok").waitFor();

    await page.getByRole("button", { name: "Create route" }).click();
    await dialog.getByRole("combobox", { name: "Zone" }).click();
    await page.getByRole("option", { name: "shop.test" }).click();
    await dialog.getByLabel("Pattern").fill("shop.test/api/*");
    await dialog.getByRole("button", { name: "Create route" }).click();
    await page.getByRole("table", { name: "Routes" }).getByText("shop.test/api/*").waitFor();
    await page.getByRole("button", { name: "Add domain" }).click();
    await dialog.getByLabel("Hostname").fill("www.shop.test");
    await dialog.getByRole("button", { name: "Add domain" }).click();
    await page.getByRole("table", { name: "Domains" }).getByText("www.shop.test").waitFor();
    await dialog.waitFor({ state: "hidden" });
    await checkPage(page, "workers-triggers");
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("create a queue, pause its delivery and delete it", async () => {
    const { page, problems } = await dashboard.open("/queues");
    await page.getByText("No queues yet").waitFor();
    await page.getByRole("button", { name: "Create queue" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("orders");
    await dialog.getByRole("button", { name: "Create queue" }).click();
    const row = page.getByRole("table", { name: "Queues" }).getByRole("row", { name: /^orders/ });
    await row.getByText("No consumer").waitFor();
    await row.getByRole("button", { name: "Actions for orders" }).click();
    await page.getByRole("menuitem", { name: "Pause delivery" }).click();
    await row.getByText("Paused").waitFor();
    await checkPage(page, "workers-queues");
    await row.getByRole("button", { name: "Actions for orders" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog.getByLabel("Enter orders to confirm").fill("orders");
    await dialog.getByRole("button", { name: "Delete queue" }).click();
    await page.getByText("No queues yet").waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test("list workers with metrics, show the overview and delete a worker", async () => {
    const { page, problems } = await dashboard.open("/workers");
    await page
      .getByRole("table", { name: "Workers" })
      .getByRole("row", { name: /^shop \d+ 1 [\d.]+ ms/ })
      .waitFor();
    await checkPage(page, "workers-list");
    await page.getByRole("link", { name: "shop" }).click();
    await page.getByRole("figure", { name: /Requests and errors per hour/ }).waitFor();
    await page.getByText("CPU p99").waitFor();
    await checkPage(page, "workers-overview");
    await page.getByRole("button", { name: "Delete worker" }).click();
    await page.getByLabel("Enter shop to confirm").fill("shop");
    await page.getByRole("dialog").getByRole("button", { name: "Delete worker" }).click();
    await page.getByRole("heading", { level: 1, name: "Workers" }).waitFor();
    await page.getByRole("link", { name: "shop" }).waitFor({ state: "hidden" });
    assert.deepEqual(problems, []);
    await page.context().close();
  });
});
