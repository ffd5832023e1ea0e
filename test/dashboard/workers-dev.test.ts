import assert from "node:assert/strict";
import { test } from "node:test";
import { makeProject, serve } from "../e2e/dev-bench.ts";
import { openBrowser, withoutChromium } from "../support/browser.ts";
import { checkPage, openSignedIn } from "./support.ts";

const WORKER = `export default {
  fetch(request) {
    console.log("visited", new URL(request.url).pathname);
    return new Response("hello");
  },
};`;

test("a development server lists its workers and shows their live logs", { skip: withoutChromium() }, async (t) => {
  const folder = await makeProject(t, { "src/index.ts": WORKER }, { name: "local" });
  const server = await serve(t, folder);
  const { page, problems } = await openSignedIn(await openBrowser(t), server.dashboard!, "/workers", { token: null });
  await page.getByRole("link", { name: "local" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Upload worker" }).count(), 0);
  await checkPage(page, "workers-dev-list");
  await page.getByRole("link", { name: "local" }).click();
  await page.getByText("Connected", { exact: true }).waitFor();
  await fetch(`${server.url}/here`);
  await page.getByRole("list", { name: "Log entries" }).getByText("visited /here").waitFor();
  await checkPage(page, "workers-dev-logs");
  assert.deepEqual(problems, []);
});
