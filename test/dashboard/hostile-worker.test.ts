import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { withoutChromium } from "../support/browser.ts";
import { until } from "../support/mail-world.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { startDashboard, TOKEN, type DashboardServer } from "./support.ts";

/** A page that runs the expressions of the test, on the origin of the API. */
const WORKER = `export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith(".js")) return new Response("onfetch = () => {}", { headers: { "content-type": "text/javascript", "service-worker-allowed": "/" } });
    return new Response("<!doctype html><title>hostile</title><div id=root></div>", { headers: { "content-type": "text/html" } });
  },
};`;

/**
 * Workers share the host name of the API, and on a developer's machine also that of the dashboard. A page of a worker
 * must not reach the dashboard, in which an administrator is signed in.
 */
describe("a hostile worker's page", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  /** The URL of the worker on the same host name as the dashboard, and on a host of its own. */
  let urls: string[];
  before(async () => {
    dashboard = await startDashboard(scope);
    const script = `/accounts/${dashboard.account}/workers/scripts/hostile`;
    const form = new FormData();
    form.set("metadata", JSON.stringify({ main_module: "index.js", compatibility_date: "2026-01-01" }));
    form.set("index.js", new Blob([WORKER], { type: "application/javascript+module" }), "index.js");
    const response = await fetch(`${dashboard.api}${script}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: form,
    });
    assert.equal(response.status, 200, await response.text());
    await dashboard.call("POST", `${script}/subdomain`, { enabled: true });
    const { port } = new URL(dashboard.server.ready.url);
    urls = [`http://localhost:${port}/workers/hostile/`, `http://hostile.main.localhost:${port}/`];
  });

  /**
   * Resolves with the administrator's browser: signed in to the dashboard in one tab, with the worker's page in another
   * one.
   */
  async function visit(url: string): Promise<Page> {
    const { page: own, context } = await dashboard.open("/dns");
    await own.getByRole("heading", { level: 1, name: "DNS" }).waitFor();
    const page = await context.newPage();
    await page.goto(url);
    assert.equal(await page.title(), "hostile");
    return page;
  }
  const run = <Result>(page: Page, script: string) =>
    page.evaluate<Result>(`(async () => { const target = ${JSON.stringify(dashboard.origin)}; ${script} })()`);

  test("cannot read the session from storage or cookies", async () => {
    for (const url of urls) {
      const page = await visit(url);
      const found = await run<unknown[]>(
        page,
        `const reads = [() => ({ ...localStorage }), () => ({ ...sessionStorage }), () => document.cookie, () => indexedDB.databases(), () => caches.keys()];
         return Promise.all(reads.map(async (read) => { try { return await read(); } catch { return "denied"; } }));`,
      );
      // The page below /workers/ has an opaque origin and thus no storage; the one on its own host has an empty one.
      for (const value of found) assert.match(JSON.stringify(value), /^(\{\}|\[\]|""|"denied")$/, url);
      await page.context().close();
    }
  });

  test("receives no credential with any request", async () => {
    for (const url of urls) {
      const page = await visit(url);
      const requests: Record<string, string>[] = [];
      page.on("request", (request) => requests.push(request.headers()));
      await page.reload();
      await run(
        page,
        `const options = { credentials: "include", mode: "no-cors" };
         await Promise.allSettled([fetch("/client/v4/user", options), fetch("/workers/hostile/x", options)]);`,
      );
      assert.ok(requests.length >= 3);
      for (const headers of requests) assert.doesNotMatch(JSON.stringify(headers), new RegExp(`${TOKEN}|cookie`, "i"));
      await page.context().close();
    }
  });

  test("cannot read a page, a script or the API of the dashboard, nor write to it", async () => {
    for (const url of urls) {
      const page = await visit(url);
      for (const [path, options] of [
        ["/", ""],
        ["/app.json", ""],
        ["/client/v4/accounts", ""],
        ["/client/v4/accounts", `, { headers: { authorization: "Bearer ${TOKEN}" } }`],
        [
          "/client/v4/zones",
          `, { method: "POST", mode: "no-cors", body: '{"name":"hostile.test"}', credentials: "include" }`,
        ],
        ["/auth/sign-out", `, { method: "POST", mode: "no-cors", credentials: "include" }`],
      ]) {
        const responses: number[] = [];
        const note = (response: { url(): string; status(): number }) => {
          if (response.url().startsWith(dashboard.origin)) responses.push(response.status());
        };
        page.on("response", note);
        const result = await run<string>(
          page,
          `try { const response = await fetch(target + ${JSON.stringify(path)}${options}); return response.type + await response.text(); } catch (error) { return "failed"; }`,
        );
        page.off("response", note);
        assert.match(result, /^(failed|opaque)$/, `${url} ${path}${options}`);
        assert.ok(
          responses.every((status) => status === 403),
          `${url} ${path}: ${responses.join()}`,
        );
      }
      await page.context().close();
    }
    assert.deepEqual(await dashboard.call("GET", "/zones"), []);
  });

  test("cannot load the scripts of the dashboard into its own page", async () => {
    const html = await (await fetch(dashboard.origin)).text();
    const [, path] = /<script type="module" src="([^"]+)"/.exec(html)!;
    for (const url of urls) {
      const page = await visit(url);
      for (const type of ["module", "text/javascript"]) {
        const result = await run<string>(
          page,
          `const script = document.createElement("script");
           script.type = ${JSON.stringify(type)};
           script.src = target + ${JSON.stringify(path)};
           return new Promise((resolve) => { script.onload = () => resolve("loaded"); script.onerror = () => resolve("blocked"); document.head.append(script); });`,
        );
        assert.equal(result, "blocked", `${url} ${type}`);
      }
      await page.context().close();
    }
  });

  test("cannot frame the dashboard", async () => {
    for (const url of urls) {
      const page = await visit(url);
      // The error page that replaces a refused document also fires the load event.
      await run(
        page,
        `const frame = document.createElement("iframe");
         frame.src = target + "/dns";
         const loaded = new Promise((resolve) => (frame.onload = resolve));
         document.body.append(frame);
         await loaded;`,
      );
      await until(() => page.frames()[1]?.url().startsWith("chrome-error:"), `the error page in the frame of ${url}`);
      await page.context().close();
    }
  });

  test("cannot reach the window of a dashboard that it opens", async () => {
    for (const url of urls) {
      const page = await visit(url);
      const opening = page.context().waitForEvent("page");
      await run(page, `self.opened = open(target + "/dns"); return null;`);
      const opened = await opening;
      await opened.getByRole("heading", { level: 1, name: "DNS" }).waitFor();
      const access = await run<Record<string, unknown>>(
        page,
        `const attempt = (what) => { try { return String(what()); } catch (error) { return "refused: " + error.name; } };
         return {
           closed: opened.closed,
           document: attempt(() => opened.document.body.innerHTML),
           storage: attempt(() => opened.localStorage.getItem("reelpost.session")),
           frames: attempt(() => opened.length),
         };`,
      );
      // Cross-Origin-Opener-Policy separates the windows: the worker's page sees a closed one.
      assert.equal(access["closed"], true, url);
      assert.doesNotMatch(JSON.stringify(access), new RegExp(TOKEN), url);
      assert.equal(await opened.evaluate("window.opener"), null);
      await page.context().close();
    }
  });

  test("cannot register a service worker for the dashboard", async () => {
    const page = await visit(urls[0]!);
    for (const script of ["/workers/hostile/sw.js", `${dashboard.origin}/sw.js`]) {
      const result = await run<string>(
        page,
        `try { await navigator.serviceWorker.register(${JSON.stringify(script)}, { scope: target + "/" }); return "registered"; } catch (error) { return error.name; }`,
      );
      assert.match(result, /^(SecurityError|TypeError)$/, script);
    }
    const { page: own } = await dashboard.open("/dns");
    assert.equal(await own.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)"), 0);
    const response = await fetch(`${dashboard.origin}/assets/licenses.txt`, {
      headers: { "service-worker": "script" },
    });
    assert.equal(response.status, 403);
  });

  test("cannot open a tail through the dashboard", async () => {
    const page = await visit(urls[0]!);
    const result = await run<string>(
      page,
      `const socket = new WebSocket(target.replace("http", "ws") + "/client/v4/tails/" + "0".repeat(32), "trace-v1");
       return new Promise((resolve) => { socket.onopen = () => resolve("open"); socket.onerror = () => resolve("failed"); });`,
    );
    assert.equal(result, "failed");
  });
});
