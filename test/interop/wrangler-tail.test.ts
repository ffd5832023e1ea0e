import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
function deep() {
  throw new TypeError("no such thing");
}
export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    console.log("asked for", pathname, { nested: [1] });
    if (pathname === "/throw") deep();
    if (pathname === "/spin") for (;;);
    return new Response("fine");
  },
  async email(message) {
    console.warn("mail of", message.rawSize, "octets");
    if (message.from.startsWith("broken@")) throw new Error("cannot read this");
  },
};
`;

interface Told {
  outcome: string;
  scriptName: string;
  event: { request?: { url: string; method: string; headers: Record<string, string> }; response?: { status: number }; mailFrom?: string; rcptTo?: string; rawSize?: number };
  logs: { level: string; message: unknown[] }[];
  exceptions: { name: string; message: string; stack?: string; timestamp: number }[];
}

describe("wrangler tail", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify({ name: "told", main: "src/index.ts", compatibility_date: "2026-10-01", limits: { cpu_ms: 200 } }), "src/index.ts": WORKER });
    await wrangler.run(["deploy"]);
  });
  after(scope.close);

  /** `wrangler tail`, running. Its tail is known to the server before it is read, and what happens from then on is told. */
  async function tail(...options: string[]) {
    const child = wrangler.start(["tail", "told", ...options]);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    let text = "";
    let look = () => {};
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding("utf8").on("data", (more: string) => {
        text += more;
        look();
      });
    }
    void ended.then(() => look());
    const until = async (found: () => boolean) => {
      while (!found()) {
        assert.equal(child.exitCode, null, `wrangler tail has ended: ${text}`);
        await new Promise<void>((resolve) => (look = resolve));
      }
    };
    while (!(await isTailed())) {
      assert.equal(child.exitCode, null, `wrangler tail has ended: ${text}`);
      await sleep(50);
    }
    return {
      until,
      text: () => text,
      async told(count: number) {
        await until(() => objectsOf(text).length >= count);
        return objectsOf(text);
      },
      stop() {
        child.kill("SIGINT");
        return ended;
      },
    };
  }
  const isTailed = () => platform.ask(`/accounts/${platform.account}/workers/scripts/told/tails`).then(() => true, () => false);

  it("--format json tells requests and messages, with logs, exceptions and their places; Ctrl-C ends the tail", async () => {
    const reading = await tail("--format", "json");
    assert.equal((await platform.visit("told", "/hello?a=b", { headers: { authorization: "Bearer secret", "x-word": "plain" } })).status, 200);
    const [request] = await reading.told(1);
    assert.deepEqual([request!.outcome, request!.scriptName, request!.event.response?.status, request!.logs[0]!.message], ["ok", "told", 200, ["asked for", "/hello", { nested: [1] }]]);
    assert.match(request!.event.request!.url, /^http:\/\/127\.0\.0\.1:\d+\/hello\?a=b$/);
    assert.deepEqual([request!.event.request!.headers.authorization, request!.event.request!.headers["x-word"]], ["REDACTED", "plain"]);
    assert.equal((await platform.visit("told", "/throw")).status, 500);
    const thrown = (await reading.told(2))[1]!;
    assert.deepEqual([thrown.outcome, thrown.exceptions[0]!.name, thrown.exceptions[0]!.message], ["exception", "TypeError", "no such thing"]);
    assert.match(thrown.exceptions[0]!.stack!, /at deep \(.*index\.ts:3:9\)/);
    await platform.mail({ from: "ada@example.com", to: `told@${platform.label}.localhost` });
    const { event, logs } = (await reading.told(3))[2]!;
    assert.deepEqual([event.mailFrom, event.rcptTo, logs[0]!.level, logs[0]!.message[1]], ["ada@example.com", `told@${platform.label}.localhost`, "warn", event.rawSize]);
    await reading.stop();
    assert.equal(await isTailed(), false);
  });

  it("--status error tells failures only, killed invocations among them, in words for people", async () => {
    const reading = await tail("--status", "error", "--format", "pretty");
    await platform.visit("told", "/fine");
    await platform.visit("told", "/spin");
    await reading.until(() => reading.text().includes("Exceeded CPU Limit"));
    await assert.rejects(platform.mail({ from: "broken@example.com", to: `told@${platform.label}.localhost` }));
    await reading.until(() => reading.text().includes("Exception Thrown"));
    assert.match(reading.text(), /Email from:broken@example\.com to:told@\S+ size:\d+ @ .* - Exception Thrown/);
    assert.doesNotMatch(reading.text(), /\/fine/);
    await reading.stop();
  });

  it("--search and --method are filters of the server", async () => {
    const reading = await tail("--format", "json", "--search", "needle", "--method", "POST");
    await platform.visit("told", "/needle");
    await platform.visit("told", "/hay", { method: "POST" });
    await platform.visit("told", "/needle", { method: "POST" });
    const told = await reading.told(1);
    assert.deepEqual(told.map(({ event }) => [event.request!.method, new URL(event.request!.url).pathname]), [["POST", "/needle"]]);
    await reading.stop();
  });
});

/** JSON objects that stand one after the other, each over several lines. */
const objectsOf = (text: string): Told[] => [...text.matchAll(/^\{$[\s\S]*?^\}$/gm)].map(([json]) => JSON.parse(json) as Told);
