import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the DNS pages", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("create a zone and records of several types, find, edit and delete them", async () => {
    const { page, problems } = await dashboard.open("/dns");
    await page.getByText("No zones yet").waitFor();
    await checkPage(page, "dns-empty");
    await page.getByRole("button", { name: "Create zone" }).first().click();
    await page.getByLabel("Domain").fill("nodot");
    await page.getByRole("dialog").getByRole("button", { name: "Create zone" }).click();
    await page.getByText("Enter a domain, for example example.com").waitFor();
    await page.getByLabel("Domain").fill("example.com");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "example.com" }).waitFor();

    const create = async (type: string, name: string, fields: Record<string, string>) => {
      await page.getByRole("button", { name: "Create record" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("combobox", { name: "Type" }).click();
      await page.getByRole("option", { name: new RegExp(`^${type}\\b`) }).click();
      await dialog.getByLabel("Name", { exact: true }).fill(name);
      for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
      await dialog.getByRole("button", { name: "Create record" }).click();
      await dialog.waitFor({ state: "hidden" });
    };
    await create("A", "www", { "IPv4 address": "192.0.2.1" });
    await create("MX", "@", { "Mail server": "mx1.example.net", Priority: "10" });
    await create("SRV", "_sip._tcp", { Priority: "1", Weight: "2", Port: "5060", Target: "sip.example.com" });
    const table = page.getByRole("table", { name: "DNS records" });
    await table.getByRole("row", { name: /SRV _sip\._tcp 1 2 5060 sip\.example\.com/ }).waitFor();
    await checkPage(page, "dns-records");

    await page.getByLabel("Search records").fill("192.0.2");
    await table.getByRole("row", { name: /MX/ }).waitFor({ state: "hidden" });
    assert.equal(await table.getByRole("row").count(), 2);
    await page.getByRole("button", { name: "Actions for A www.example.com" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.getByLabel("IPv4 address").fill("300.1.1.1");
    await page.getByRole("button", { name: "Save record" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await checkPage(page, "dns-record-error");
    await page.getByLabel("IPv4 address").fill("192.0.2.2");
    await page.getByRole("button", { name: "Save record" }).click();
    await table.getByText("192.0.2.2").waitFor();

    await page.getByRole("checkbox", { name: "Select A www.example.com" }).check();
    await page.getByRole("button", { name: "Delete records" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete records" }).click();
    await page.getByText("No records match").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await table.getByRole("row", { name: /MX/ }).waitFor();
    // The API rejected the wrong address, and the browser reports the failed request.
    assert.deepEqual(
      problems.filter((problem) => !/status of 400/.test(problem)),
      [],
    );
  });

  test("import a zone file, export it and show the result of the verification", async () => {
    const { id } = await dashboard.call<{ id: string }>("POST", "/zones", {
      name: "import.test",
      account: { id: dashboard.account },
    });
    const { page, problems } = await dashboard.open(`/dns/${id}`);
    await page.getByText("No records yet").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByLabel("Or paste its text").fill('www 300 IN A 192.0.2.7\n@ 300 IN TXT "hello"\n');
    await page.getByRole("button", { name: "Import records" }).click();
    await page.getByText("2 of 2 records imported").waitFor();
    await page.getByRole("table").getByText("192.0.2.7").waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "import.test.txt");
    assert.match(await readFile(await download.path(), "utf8"), /www\.import\.test\.\s+300\s+IN\s+A\s+192\.0\.2\.7/);

    await page.getByRole("tab", { name: "Verification" }).click();
    await page.getByText("Failed").first().waitFor();
    await checkPage(page, "dns-verification");
    assert.deepEqual(problems, []);
  });
});
