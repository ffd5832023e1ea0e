import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { openBrowser, PATIENCE_MS } from "../support/browser.ts";
import { spawnServe, type ServeProcess, type SpawnServeOptions } from "../support/serve.ts";

/** Folder for screenshots, for manual review. */
const SHOTS = process.env["REELPOST_SCREENSHOTS"];
const WIDE = { width: 1440, height: 900 };
/** The page must fit into each of these windows, and into WIDE. */
const OTHER_VIEWPORTS = [
  { width: 2560, height: 1440 },
  { width: 390, height: 844 },
  { width: 360, height: 740 },
];
const THEMES = ["light", "dark"] as const;
const COLOR_RULES = ["color-contrast", "link-in-text-block"];
/** The key under which session/session.ts stores the session. */
const SESSION_KEY = "reelpost.session";

export const TOKEN = "dashboard-test-token-0123456789abcdef0123";

/** A page is open for seconds: V8's optimizing compilers take more processor time than they save. */
const BASELINE_COMPILER = ["--js-flags=--no-maglev --no-turbofan"];

interface Scope {
  after(end: () => Promise<void>): void;
}

export interface DashboardServer {
  server: ServeProcess;
  /** Origin of the dashboard, without a trailing slash. */
  origin: string;
  /** Base URL of the API on its own origin. */
  api: string;
  account: string;
  browser: Browser;
  /** Opens a page in a context of its own, signed in unless `token` is null, with a list of its errors. */
  open(path: string, options?: OpenOptions): Promise<OpenedPage>;
  /** Calls the API as the administrator and returns `result`. */
  call<Result>(method: string, path: string, body?: unknown): Promise<Result>;
}

interface OpenOptions {
  token?: string | null;
  theme?: (typeof THEMES)[number];
  viewport?: { width: number; height: number };
  /** Runs in every document before its own scripts. */
  script?: string;
}

export interface OpenedPage {
  page: Page;
  context: BrowserContext;
  /** Uncaught exceptions, console errors and violations of the Content-Security-Policy. */
  problems: string[];
}

/** Starts `reelpost serve` in a process of its own, and a browser. */
export async function startDashboard(scope: Scope, options: SpawnServeOptions = {}): Promise<DashboardServer> {
  const [server, browser] = await Promise.all([
    spawnServe(scope, { ...options, env: { REELPOST_API_TOKEN: TOKEN, ...options.env } }),
    openBrowser(scope, BASELINE_COMPILER),
  ]);
  const { dashboard, api, account } = server.ready;
  const { origin } = new URL(dashboard!);

  return {
    server,
    origin,
    api: api!,
    account: account!.id,
    browser,
    open: (path, openOptions) => openSignedIn(browser, origin, path, openOptions),
    async call(method, path, body) {
      const response = await fetch(`${api}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const envelope = (await response.json()) as { success: boolean; result: never; errors: unknown };
      assert.equal(envelope.success, true, `${method} ${path}: ${JSON.stringify(envelope.errors)}`);
      return envelope.result;
    },
  };
}

export async function openSignedIn(
  browser: Browser,
  origin: string,
  path: string,
  { token = TOKEN, theme = "light", viewport = WIDE, script }: OpenOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    reducedMotion: "reduce",
    storageState: {
      cookies: [],
      origins: token === null ? [] : [{ origin, localStorage: [{ name: SESSION_KEY, value: token }] }],
    },
  });
  context.setDefaultTimeout(PATIENCE_MS);
  if (script !== undefined) await context.addInitScript(script);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (err) => problems.push(String(err)));
  page.on("console", (message) => {
    if (message.type() === "error")
      problems.push([message.text(), message.location().url].filter(Boolean).join(" at "));
  });
  await page.goto(`${origin}${path}`);
  return { page, context, problems };
}

let axeSource: Promise<string> | undefined;

/**
 * Returns all violations that axe finds with these rules (default: those it enables): rule, selector and explanation.
 */
async function axeViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  axeSource ??= readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // Evaluated through the debugger: the page's Content-Security-Policy blocks injected scripts.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(`${await axeSource};0`);
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: { type: "rule", values: rules } }) };
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id}: ${target.flat().join(" ")} (${failureSummary?.replaceAll(/\s+/g, " ")})`,
    ),
  );
}

/**
 * Checks the page as it is with axe in both themes, and that it fits into windows of 360 to 2560 pixels. With
 * REELPOST_SCREENSHOTS set, also writes `<name>-<width>-<theme>.png` for each width.
 */
export async function checkPage(page: Page, name: string): Promise<void> {
  for (const theme of THEMES) {
    await useTheme(page, theme);
    // The elements are the same in the second theme: only their colors differ.
    const violations = await axeViolations(page, theme === THEMES[0] ? undefined : COLOR_RULES);
    assert.deepEqual(violations, [], `${name} in the ${theme} theme`);
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}-${WIDE.width}-${theme}.png` });
  }
  for (const viewport of OTHER_VIEWPORTS) {
    await page.setViewportSize(viewport);
    await useTheme(page, "light");
    const { overflow, clipped } = (await page.evaluate(MEASURE_LAYOUT)) as { overflow: number; clipped: string[] };
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}-${viewport.width}-light.png` });
    assert.equal(overflow, 0, `${name} scrolls horizontally at ${viewport.width} pixels`);
    assert.deepEqual(clipped, [], `${name} clips controls at ${viewport.width} pixels`);
  }
  await page.setViewportSize(WIDE);
}

/**
 * Measures by how many pixels the page is too wide, and finds controls that are partly outside of the window or of an
 * element that hides its overflow, and buttons whose text is cut off. A string, because the types of browser APIs are
 * not available here.
 */
const MEASURE_LAYOUT = `(() => {
  const root = document.documentElement;
  const clipped = [];
  for (const control of document.querySelectorAll("button, a[href], input, select, textarea, [role=button], [role=tab]")) {
    const { left, right, width, height } = control.getBoundingClientRect();
    const isShown = control.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    // A closed navigation and the skip link are outside of the window as a whole.
    if (!isShown || width <= 1 || height <= 1 || right <= 0 || left >= root.clientWidth) continue;
    const name = (control.getAttribute("aria-label") ?? control.textContent).trim().slice(0, 40) || control.localName;
    let isReachable = false;
    let edges = { left: 0, right: root.clientWidth };
    for (let outer = control.parentElement; outer !== null && !isReachable; outer = outer.parentElement) {
      const { overflowX } = getComputedStyle(outer);
      // The selected tab is visible without scrolling.
      const isSelected = control.getAttribute("aria-selected") === "true";
      isReachable = !isSelected && (overflowX === "auto" || overflowX === "scroll");
      if (overflowX === "visible") continue;
      const box = outer.getBoundingClientRect();
      edges = { left: Math.max(edges.left, box.left), right: Math.min(edges.right, box.right) };
    }
    if (!isReachable && (left < edges.left - 1 || right > edges.right + 1))
      clipped.push(name + ": " + Math.round(left) + " to " + Math.round(right));
    const label = control.querySelector(".mantine-Button-label") ?? control;
    if (control.localName === "button" && label.scrollWidth > label.clientWidth + 1 &&
      getComputedStyle(label).overflowX !== "visible" && getComputedStyle(label).textOverflow !== "ellipsis")
      clipped.push(name + ": the text is cut off");
  }
  return { overflow: root.scrollWidth - root.clientWidth, clipped };
})()`;

/** Resolves when the page is painted in the theme. Pages outside of the dashboard have no attribute for it. */
async function useTheme(page: Page, theme: (typeof THEMES)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html:not([data-mantine-color-scheme]), html[data-mantine-color-scheme=${theme}]`).waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
