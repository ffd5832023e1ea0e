import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../support/free-ports.ts";
import { spawnServe } from "../support/serve.ts";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";
import { tail, type Tailing, type TailRecord } from "./tailing.ts";

const WORKER = `
interface Order {
  id: number;
}

function refuse(order: Order): never {
  throw new RangeError("order " + order.id + " is refused");
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    console.log("visited", { path: pathname }, 42);
    if (pathname === "/throw") refuse({ id: 7 });
    if (pathname === "/spin") for (;;);
    return new Response("fine");
  },
  async email(message: { from: string; setReject(reason: string): void }): Promise<void> {
    console.warn("mail of", message.from);
    if (message.from.startsWith("thrower@")) throw new TypeError("cannot read this");
  },
};
`;

describe("wrangler tail", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let address: string;
  /** The same at every start, so that the client can reconnect. */
  let ports: string[];
  before(async () => {
    ports = ["--port", String(await freePort()), "--smtp-port", String(await freePort())];
    platform = await startPlatform(scope, {}, ports);
    address = `shop@${platform.label}.localhost`;
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "shop",
        main: "src/index.ts",
        compatibility_date: "2026-10-01",
        limits: { cpu_ms: 150 },
      }),
      "src/index.ts": WORKER,
    });
    await wrangler.run(["deploy"]);
  });
  after(scope.close);

  const pathOf = ({ event }: TailRecord) =>
    event.request === undefined ? undefined : new URL(event.request.url).pathname;
  /** In JSON format, the client does not report that it is connected, so requests are repeated until one appears. */
  async function connected(tailing: Tailing, path: string): Promise<void> {
    const seen = tailing.until(() => tailing.text().includes(path));
    const done = new AbortController();
    void seen.catch(() => {}).finally(() => done.abort());
    while (!done.signal.aborted) {
      await platform.visit("shop", path);
      await pause(100, undefined, { signal: done.signal }).catch(() => {});
    }
    await seen;
  }
  const tails = async () => {
    const response = await fetch(`${platform.api}/accounts/${platform.account}/workers/scripts/shop/tails`, {
      headers: { authorization: `Bearer ${platform.token}` },
    });
    const { result_info: info } = (await response.json()) as { result_info?: { total_count: number } };
    return response.ok ? info!.total_count : 0;
  };

  describe("three concurrent tails: JSON, pretty, errors only", () => {
    let json: Tailing;
    let pretty: Tailing;
    let errors: Tailing;
    const records = () => json.records().filter((record) => pathOf(record) !== "/warm-up");
    before(async () => {
      json = tail(wrangler, ["--format", "json"]);
      pretty = tail(wrangler, ["shop", "--format", "pretty"]);
      errors = tail(wrangler, ["--format", "json", "--status", "error"]);
      await Promise.all([
        connected(json, "/warm-up"),
        pretty.until(() => pretty.text().includes("Connected to shop")),
        connected(errors, "/throw"),
      ]);
      await platform.visit("shop", "/fine?page=2", { method: "POST" });
      await platform.visit("shop", "/throw");
      await platform.visit("shop", "/spin");
      await platform.mail({ from: "friend@example.com", to: address });
      await platform.mail({ from: "thrower@example.com", to: address }).catch(() => {});
      await json.until(() => records().some(({ event }) => event.mailFrom === "thrower@example.com"));
    });

    it("show the URL, method and status of a request and its unchanged log output", () => {
      const record = records().find((record) => pathOf(record) === "/fine")!;
      assert.deepEqual(
        [record.outcome, record.scriptName, record.event.request!.method, record.event.response!.status],
        ["ok", "shop", "POST", 200],
      );
      assert.match(record.event.request!.url, /\/fine\?page=2$/);
      assert.deepEqual(
        record.logs.map(({ level, message }) => [level, message]),
        [["log", ["visited", { path: "/fine" }, 42]]],
      );
    });

    it("show an exception with a stack of source lines instead of bundle lines", () => {
      const { outcome, exceptions, event } = records().find((record) => pathOf(record) === "/throw")!;
      assert.deepEqual(
        [outcome, event.response!.status, exceptions[0]!.name, exceptions[0]!.message],
        ["exception", 500, "RangeError", "order 7 is refused"],
      );
      assert.match(exceptions[0]!.stack!, /refuse \(src\/index\.ts:7:\d+\)\n\s+at .*src\/index\.ts:14:/);
    });

    it("show an invocation killed for its CPU time", () => {
      const { outcome, exceptions } = records().find((record) => pathOf(record) === "/spin")!;
      assert.equal(outcome, "exceededCpu");
      assert.match(exceptions[0]!.message, /CPU time limit/);
    });

    it("show sender, recipient, size and outcome of mail", () => {
      const [friend, thrower] = ["friend", "thrower"].map((name) =>
        records().find(({ event }) => event.mailFrom === `${name}@example.com`)!,
      );
      assert.deepEqual([friend!.outcome, friend!.event.rcptTo, friend!.event.rawSize! > 100], ["ok", address, true]);
      assert.deepEqual(
        friend!.logs.map(({ level, message }) => [level, message]),
        [["warn", ["mail of", "friend@example.com"]]],
      );
      assert.deepEqual(
        [thrower!.outcome, thrower!.exceptions.map(({ message }) => message)],
        ["exception", ["cannot read this"]],
      );
    });

    it("print the same events as lines in pretty format", async () => {
      await pretty.until(() => pretty.text().includes("from:thrower@example.com"));
      const text = pretty.text();
      for (const line of [
        /POST \S+\/fine\?page=2 - Ok @/,
        /GET \S+\/throw - Exception Thrown @/,
        /GET \S+\/spin - Exceeded CPU Limit @/,
        /\(log\) visited \{ path: '\/fine' \} 42/,
        /Email from:friend@example\.com to:\S+ size:\d+ @ .* - Ok/,
        /Email from:thrower@example\.com to:\S+ size:\d+ @ .* - Exception Thrown/,
        /RangeError: order 7 is refused/,
      ])
        assert.match(text, line);
    });

    it("omit successful invocations with --status error", async () => {
      await errors.until(() => errors.records().some(({ event }) => event.mailFrom === "thrower@example.com"));
      const outcomes = errors.records().map(({ outcome }) => outcome);
      assert.ok(
        !outcomes.includes("ok") && outcomes.includes("exception") && outcomes.includes("exceededCpu"),
        outcomes.join(),
      );
    });

    it("end on Ctrl-C, together with their tails on the server", async () => {
      assert.equal(await tails(), 3);
      assert.deepEqual(await Promise.all([json.interrupt(), pretty.interrupt(), errors.interrupt()]), [0, 0, 0]);
      assert.equal(await tails(), 0);
    });
  });

  it("the server also filters by method, search and header", async () => {
    const filtered = tail(wrangler, [
      "--format",
      "json",
      "--method",
      "PUT",
      "--search",
      "/needle",
      "--header",
      "x-colour:red",
    ]);
    const visit = (method: string, path: string, colour: string) =>
      platform.visit("shop", path, { method, headers: { "x-colour": colour } });
    const last = filtered.until(() => filtered.records().some((record) => pathOf(record) === "/needle/last"));
    const done = new AbortController();
    void last.catch(() => {}).finally(() => done.abort());
    while (!done.signal.aborted) {
      await Promise.all([
        visit("POST", "/needle", "red"),
        visit("PUT", "/hay", "red"),
        visit("PUT", "/needle", "blue"),
      ]);
      await visit("PUT", "/needle/last", "red");
      await pause(100, undefined, { signal: done.signal }).catch(() => {});
    }
    await last;
    assert.deepEqual([...new Set(filtered.records().map(pathOf))], ["/needle/last"]);
    await filtered.interrupt();
  });

  it("a missing worker cannot be tailed", async () => {
    const { code, text } = await wrangler.attempt(["tail", "nobody"]);
    assert.notEqual(code, 0);
    assert.match(text, /This Worker does not exist on your account\. \[code: 10007\]/);
  });

  it("the client reconnects automatically after a server restart", async () => {
    const pretty = tail(wrangler, ["--format", "pretty"]);
    await pretty.until(() => pretty.text().includes("Connected to shop"));
    const { ready } = platform.server;
    assert.deepEqual(await platform.server.stop(), { code: 0, signal: null });
    await spawnServe(scope, { dataDirectory: ready.dataDirectory, args: ports });
    await pretty.until(() => pretty.text().includes("Reconnected to shop."));
    await platform.visit("shop", "/after-the-restart");
    await pretty.until(() => pretty.text().includes("/after-the-restart - Ok"));
    assert.match(pretty.text(), /Tail connection lost\. Reconnecting \(attempt 1 of 5\)/);
    assert.equal(await pretty.interrupt(), 0);
  });
});
