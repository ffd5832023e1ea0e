import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import PostalMime from "postal-mime";
import { withoutChromium } from "../support/browser.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the pages outside the dashboard", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  /** Origin of the API. */
  let server: string;
  before(async () => {
    dashboard = await startDashboard(scope);
    server = new URL(dashboard.api).origin;
  });

  async function openPublic(url: string) {
    const opened = await dashboard.open("/assets/licenses.txt", { token: null });
    await opened.page.goto(url);
    return opened;
  }

  test("the front page links to sign-in, documentation and API reference, and reveals nothing else", async () => {
    const { page, context, problems } = await openPublic(server);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await checkPage(page, "front");
    const links = await page
      .getByRole("link")
      .evaluateAll((all) => all.map((link) => (link as { href?: string }).href));
    assert.deepEqual(links, [`${dashboard.origin}/`, `${dashboard.origin}/docs`, `${server}/client/v4/docs`]);
    assert.deepEqual((await page.locator("body").innerText()).split(/\n+/), [
      "Reelpost",
      "Programmable email and streaming video",
      "Email Workers, Email Routing and Stream on your own server.",
      "Sign in",
      "Documentation",
      "API reference",
      "Email",
      "Route mail for your domains to workers and people. Send signed mail, and see what happened to each message.",
      "Workers",
      "Deploy code that handles messages and requests, with storage, queues and live logs.",
      "Video",
      "Upload a video and play it seconds later. Broadcast live, and control who can watch.",
    ]);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.waitForURL(/\/sign-in/);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("the text version of the front page has the same links", async () => {
    const text = await (await fetch(server)).text();
    assert.match(text, new RegExp(`^Sign in +${dashboard.origin}$`, "m"));
    assert.match(text, new RegExp(`^API reference +${server}/client/v4/docs$`, "m"));
    assert.doesNotMatch(text, /healthz|worker>|\d\.\d\.\d$/m);
  });

  test("the public API reference filters operations and shows their parameters", async () => {
    const { page, context, problems } = await openPublic(`${server}/client/v4/docs`);
    await page.getByRole("heading", { level: 1, name: "API reference" }).waitFor();
    await checkPage(page, "api-public");
    await page.getByRole("searchbox").fill("create kv namespace");
    const operations = page.locator("details:visible");
    await operations.first().waitFor();
    await page.waitForFunction("document.querySelectorAll('details:not([hidden])').length < 10");
    await operations.first().locator("summary").click();
    await page.getByText("curl -X").first().waitFor();
    await checkPage(page, "api-public-operation");
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("error pages state the problem and do not scroll horizontally", async () => {
    for (const [name, path, heading] of [
      ["not-found", "/nothing/here", "Page not found"],
      ["no-worker", "/workers/none/", "Page not found"],
      ["no-video", `/${"a".repeat(32)}/watch`, "This video does not exist"],
      ["verify-invalid", "/email/verify/none", "Invalid link"],
    ] as const) {
      const { page, context } = await openPublic(`${server}${path}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await checkPage(page, `error-${name}`);
      await context.close();
    }
    const text = await fetch(`${server}/nothing/here`);
    assert.deepEqual([text.status, text.headers.get("content-type")], [404, "text/plain; charset=utf-8"]);
  });

  test("a recipient verifies an address on the page that the link opens", async () => {
    await dashboard.call("POST", `/accounts/${dashboard.account}/email/routing/addresses`, {
      email: "ada@example.net",
    });
    const { page, context, problems } = await openPublic(await verificationLink());
    await page.getByText("ada@example.net").waitFor();
    await checkPage(page, "verify");
    await page.getByRole("button", { name: "Verify address" }).click();
    await page.getByRole("heading", { name: "Address verified" }).waitFor();
    await checkPage(page, "verified");
    assert.deepEqual(problems, []);
    await context.close();
  });

  async function verificationLink(): Promise<string> {
    const folder = dashboard.server.ready.dataDirectory;
    const deadline = Date.now() + 60_000;
    while (Date.now() < deadline)
      for await (const file of glob("**/*.eml", { cwd: folder })) {
        const { text = "" } = await PostalMime.parse(await readFile(join(folder, file)));
        const link = /https?:\/\/\S+\/email\/verify\/\S+/.exec(text)?.[0];
        if (link !== undefined) return link;
      }
    throw new Error("no verification message was sent");
  }
});
