import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, TOKEN, type DashboardServer } from "./support.ts";

describe("the storage pages", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("create a KV namespace and keys, edit a value, filter and delete keys", async () => {
    const { page, problems } = await dashboard.open("/storage/kv");
    await page.getByText("No namespaces yet").waitFor();
    await checkPage(page, "storage-kv-empty");
    await page.getByRole("button", { name: "Create namespace" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("sessions");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "sessions" }).click();
    await page.getByText("No keys yet").waitFor();

    const create = async (name: string, value: string, metadata = "") => {
      await page.getByRole("button", { name: "Create key" }).first().click();
      await page.getByLabel("Key", { exact: true }).fill(name);
      await page.getByRole("textbox", { name: "Value" }).fill(value);
      await page.getByLabel("Metadata").fill(metadata);
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    };
    await create("user:1", "Ada", '{"role":"admin"}');
    await create("user:2/é", "Grace");
    await create("other", "x");
    const table = page.getByRole("table", { name: "Keys" });
    await table.getByRole("row", { name: /user:1 \{"role":"admin"\}/ }).waitFor();
    await checkPage(page, "storage-kv-keys");

    await table.getByRole("button", { name: "user:2/é" }).click();
    await page.getByRole("textbox", { name: "Value" }).fill("Grace Hopper");
    await checkPage(page, "storage-kv-value");
    await page.getByRole("button", { name: "Save value" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await table.getByRole("button", { name: "user:2/é" }).click();
    assert.equal(await page.getByRole("textbox", { name: "Value" }).inputValue(), "Grace Hopper");
    await page.keyboard.press("Escape");

    await page.getByLabel("Filter by prefix").fill("user:");
    await table.getByText("other").waitFor({ state: "hidden" });
    for (const name of ["user:1", "user:2/é"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    await page.getByRole("button", { name: "Delete keys" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete keys" }).click();
    await page.getByText("No keys start with “user:”").waitFor();
    await page.getByRole("button", { name: "Show all keys" }).click();
    await table.getByText("other").waitFor();
    assert.deepEqual(problems, []);
  });

  test("show the keys of a namespace page by page", async () => {
    const account = `/accounts/${dashboard.account}`;
    const { id } = await dashboard.call<{ id: string }>("POST", `${account}/storage/kv/namespaces`, { title: "many" });
    const pairs = Array.from({ length: 101 }, (_, index) => ({
      key: `key-${String(index).padStart(3, "0")}`,
      value: "x",
    }));
    await dashboard.call("PUT", `${account}/storage/kv/namespaces/${id}/bulk`, pairs);
    const { page, problems } = await dashboard.open(`/storage/kv/${id}`);
    const table = page.getByRole("table", { name: "Keys" });
    await table.getByText("key-099").waitFor();
    assert.equal(await table.getByText("key-100").count(), 0);
    await page.getByRole("button", { name: "Next" }).click();
    await table.getByText("key-100").waitFor();
    assert.equal(await table.getByRole("row").count(), 2);
    await page.getByRole("button", { name: "Previous" }).click();
    await table.getByText("key-000").waitFor();
    assert.deepEqual(problems, []);
  });

  test("upload objects to folders of a bucket, preview, download and delete them", async () => {
    await dashboard.call("POST", `/accounts/${dashboard.account}/r2/buckets`, { name: "attachments" });
    const { page, problems } = await dashboard.open("/storage/r2");
    await page.getByRole("link", { name: "attachments" }).waitFor();
    await checkPage(page, "storage-r2");
    await page.getByRole("link", { name: "attachments" }).click();
    await page.getByText("No objects yet").waitFor();
    const input = page.locator('input[type="file"]').first();
    await input.setInputFiles({ name: "hello.txt", mimeType: "text/plain", buffer: Buffer.from("Hello, R2") });
    // During the upload, there is a button "Cancel the upload of hello.txt".
    await page.getByRole("button", { name: "hello.txt", exact: true }).waitFor();
    await putObject(dashboard, "2026/11/report.json", '{"total":3}', "application/json");
    await page.reload();
    await page.getByRole("button", { name: "2026/" }).click();
    await page.getByRole("button", { name: "11/" }).click();
    await page.getByRole("button", { name: "report.json" }).click();
    await page.getByText('{"total":3}').waitFor();
    await checkPage(page, "storage-r2-object");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    assert.equal(await readFile(await download.path(), "utf8"), '{"total":3}');
    await page.keyboard.press("Escape");
    await page.getByRole("navigation", { name: "Folder" }).getByRole("link", { name: "attachments" }).click();
    await page.getByRole("button", { name: "hello.txt" }).waitFor();
    await checkPage(page, "storage-r2-objects");
    await page.getByRole("checkbox", { name: "Select 2026/" }).check();
    await page.getByRole("button", { name: "Delete objects" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete objects" }).click();
    await page.getByRole("button", { name: "2026/" }).waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "hello.txt" }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("run SQL in the console, show tables and export rows as CSV", async () => {
    const { uuid } = await dashboard.call<{ uuid: string }>("POST", `/accounts/${dashboard.account}/d1/database`, {
      name: "orders",
    });
    const { page, problems } = await dashboard.open(`/storage/d1/${uuid}`);
    await page.getByText("No tables yet").waitFor();
    await page.getByRole("tab", { name: "SQL console" }).click();
    await page
      .getByLabel("SQL", { exact: true })
      .fill(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT); INSERT INTO orders (note) VALUES ('a, b'), (NULL)",
      );
    await page.keyboard.press("Control+Enter");
    await page.getByText("2 rows changed").waitFor();
    await page.getByLabel("SQL", { exact: true }).fill("SELECT * FROM order");
    await page.getByRole("button", { name: "Run" }).click();
    await page
      .getByRole("alert")
      .getByText(/syntax error/)
      .first()
      .waitFor();
    await page.getByLabel("SQL", { exact: true }).fill("SELECT id, note FROM orders");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("table", { name: "Rows of result 1" }).getByText("a, b").waitFor();
    await checkPage(page, "storage-d1-console");
    await page.getByRole("tab", { name: "Tables" }).click();
    await page.getByText("orders: 2 rows").waitFor();
    await checkPage(page, "storage-d1-tables");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    assert.equal(await readFile(await download.path(), "utf8"), 'id,note\r\n1,"a, b"\r\n2,\r\n');
    // The API rejected the wrong statement, and the browser reports the failed request.
    assert.deepEqual(
      problems.filter((problem) => !/status of 400/.test(problem)),
      [],
    );
  });
});

async function putObject({ api, account }: DashboardServer, key: string, body: string, type: string): Promise<void> {
  const url = `${api}/accounts/${account}/r2/buckets/attachments/objects/${encodeURIComponent(key)}`;
  const response = await fetch(url, {
    method: "PUT",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": type },
    body,
  });
  assert.equal(response.status, 200);
}
