import assert from "node:assert/strict";
import { test } from "node:test";
import { makeProject, serve } from "../e2e/dev-bench.ts";
import { openBrowser, withoutChromium } from "../support/browser.ts";
import { openSignedIn } from "./support.ts";

const WORKER = { "src/index.ts": "export default { fetch: () => new Response('hello') };" };

test(
  "the dashboard of a development server opens without sign-in, with the pages for development",
  { skip: withoutChromium() },
  async (t) => {
    const folder = await makeProject(t, WORKER);
    const server = await serve(t, folder);
    const browser = await openBrowser(t);
    assert.match(server.dashboard!, /^http:\/\/localhost:\d+$/);
    const { page } = await openSignedIn(browser, server.dashboard!, "/", { token: null });
    const navigation = page.getByRole("navigation", { name: "Main" });
    await navigation.getByRole("link", { name: "Inbox" }).waitFor();
    assert.equal(await navigation.getByRole("link", { name: "DNS" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: /^Signed in as/ }).count(), 0);
    await page.goto(`${server.dashboard}/sign-in`);
    await page.waitForURL(`${server.dashboard}/`);
  },
);

test("a development server serves the documentation, rejects other origins, and has no dashboard if the dashboard is disabled", async (t) => {
  const folder = await makeProject(t, WORKER);
  const without = await serve(t, folder, { dashboardPort: false, dataDir: "a" });
  assert.equal(without.dashboard, undefined);
  const server = await serve(t, folder, { dataDir: "b" });
  const { port } = new URL(server.dashboard!);
  const response = await fetch(`http://127.0.0.1:${port}/client/v4/user`);
  const { result } = (await response.json()) as { result: { email: string } };
  assert.equal(result.email, "developer@localhost");
  assert.equal(response.headers.get("x-frame-options"), "DENY");
  const rebound = await fetch(`http://127.0.0.1:${port}/app.json`, { headers: { origin: "http://evil.example" } });
  assert.equal(rebound.status, 403);
  const documentation = await fetch(`${server.dashboard}/docs/inbox`);
  assert.match(await documentation.text(), /<h1>The inbox<\/h1>/);
  const description = (await (await fetch(`${server.dashboard}/client/v4/openapi.json`)).json()) as { paths: object };
  assert.ok("/accounts/{account_id}/storage/kv/namespaces" in description.paths);
});
