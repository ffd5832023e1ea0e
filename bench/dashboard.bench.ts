import { join } from "node:path";
import type { Browser } from "playwright-core";
import { openBrowser } from "../test/support/browser.ts";
import { fillDataDirectory } from "./dashboard/rows.ts";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { median } from "./harness/median.ts";
import { startServerProcess } from "./harness/server-process.ts";

const FEW = 100;
const MANY = 100_000;
/** Page loads per sample; each sample is the median of their times. */
const LOADS = 3;
/** The localStorage key that web/dashboard/session/session.ts uses. */
const SESSION_KEY = "reelpost.session";
const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");

/** A list in the dashboard, a selector for the links in its rows, and the number of rows on its first page. */
interface List {
  name: string;
  path: string;
  links: string;
  rows: number;
}

const LISTS: readonly List[] = [
  { name: "videos", path: "/stream", links: 'ul[aria-label="Videos"] > li a.mantine-Anchor-root', rows: 24 },
  { name: "mail log", path: "/mail/log", links: 'table[aria-label="Mail log"] tbody a', rows: 50 },
];

/**
 * Time from the navigation to the first usable list in Chromium with an empty cache, for the videos and the mail log of
 * `reelpost serve`, with 100 and with 100,000 rows each. `first_load_kb`: what the browser loads for the first page,
 * with gzip.
 */
const bench: Bench = {
  name: "dashboard",
  async setup(kit) {
    const browser = await openBrowser({ after: (stop) => kit.onStop(stop) });
    const few = await startOurs(kit, "few", FEW);
    const many = await startOurs(kit, "many", MANY);
    const firstLoadKb = (await firstLoadBytes(few.origin)) / 1024;
    return {
      peers: { chromium: browser.version() },
      arms: LISTS.flatMap((list) => [
        listArm(browser, few, list, "few rows"),
        listArm(browser, many, list, "many rows"),
      ]),
      figures: (of) => {
        const growthOf = ({ name }: List) => of(`${name}, many rows`) / of(`${name}, few rows`);
        return {
          growth: Math.max(...LISTS.map(growthOf)),
          first_load_kb: firstLoadKb,
          // The values from which the ratio is computed.
          videos_growth: growthOf(LISTS[0]!),
          log_growth: growthOf(LISTS[1]!),
          videos_ms: of("videos, many rows"),
          log_ms: of("mail log, many rows"),
        };
      },
    };
  },
};
export default bench;

interface Side {
  origin: string;
  token: string;
}

async function startOurs(kit: BenchContext, name: string, rows: number): Promise<Side> {
  const cwd = join(kit.dir, name);
  kit.say(`creating ${rows} videos and ${rows} entries of the mail log`);
  const { token } = await fillDataDirectory(cwd, rows);
  const server = await startServerProcess({
    name: "reelpost serve",
    args: [main, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    cwd,
    env: { REELPOST_API_RATE_LIMIT: "0", REELPOST_DNS_RESOLVERS: "127.0.0.1:9" },
    ready: (line) => (JSON.parse(line) as { dashboard?: string }).dashboard,
  });
  kit.onStop(server.stop);
  return { token, origin: new URL(server.url).origin };
}

function listArm(browser: Browser, side: Side, list: List, rows: string): Arm {
  return {
    name: `${list.name}, ${rows}`,
    unit: "ms",
    async sample() {
      const times: number[] = [];
      for (let load = 0; load < LOADS; load++) times.push(await timeToList(browser, side, list));
      return median(times);
    },
  };
}

/** Milliseconds from the navigation to the frame that shows the rows. */
async function timeToList(browser: Browser, { origin, token }: Side, { path, links, rows }: List): Promise<number> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    storageState: { cookies: [], origins: [{ origin, localStorage: [{ name: SESSION_KEY, value: token }] }] },
  });
  try {
    const page = await context.newPage();
    // The page measures the time itself, so that it does not include the requests of the debugger.
    await page.addInitScript(`{
      const observer = new MutationObserver(() => {
        if (document.querySelector(${JSON.stringify(links)}) === null) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => performance.mark("usable")));
      });
      observer.observe(document, { childList: true, subtree: true });
    }`);
    await page.goto(`${origin}${path}`, { waitUntil: "commit" });
    const found = page.locator(links);
    await found.first().waitFor();
    const count = await found.count();
    if (count !== rows) throw new Error(`${path} shows ${count} rows instead of ${rows}`);
    return (await page.evaluate(`new Promise((resolve) => {
      const read = () => {
        const mark = performance.getEntriesByName("usable")[0];
        if (mark === undefined) requestAnimationFrame(read);
        else resolve(mark.startTime);
      };
      read();
    })`)) as number;
  } finally {
    await context.close();
  }
}

/** Compressed size of the page and of the files that it refers to. */
async function firstLoadBytes(origin: string): Promise<number> {
  const html = await (await fetch(`${origin}/stream`)).text();
  const files = new Set([...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, file]) => file!));
  const sizes = await Promise.all(["/stream", ...files].map((path) => sentSize(origin, path)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Small files are sent uncompressed. */
async function sentSize(origin: string, path: string): Promise<number> {
  const response = await fetch(`${origin}${path}`, { headers: { "accept-encoding": "gzip" } });
  await response.arrayBuffer();
  const length = response.headers.get("content-length");
  if (response.status !== 200 || length === null)
    throw new Error(`${path} returned ${response.status}, with content-length ${length}`);
  return Number(length);
}
