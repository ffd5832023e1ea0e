import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { migrate, openSqlite, type Db } from "../../../store/index.ts";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { selfSigned, type Pair } from "../certificate.testing.ts";
import { deliveryRequestOf, startSink } from "../outbound.testing.ts";
import type { TlsPolicy } from "../types.ts";
import { createDeliveryAgent } from "../smtp/delivery-agent.ts";
import { startDns, type NameRecords } from "./dns.testing.ts";
import { createStsFetch } from "./sts-fetch.ts";
import { createStsPolicies } from "./sts.ts";
import { createStsTable, stsMigration } from "./sts-table.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const web = selfSigned("mta-sts.there.example");
const ENFORCE = "version: STSv1\r\nmode: enforce\r\nmx: *.there.example\r\nmax_age: 604800\r\n";

interface Site {
  port: number;
  status: number;
  type: string;
  body: string;
  location?: string;
  fetched: number;
}

/** Starts the web server of a domain. */
async function startSite(t: TestContext, pair: Pair = web): Promise<Site> {
  const site: Site = { port: 0, status: 200, type: "text/plain", body: ENFORCE, fetched: 0 };
  const server = createServer(pair, ({ url }, response) => {
    site.fetched++;
    response
      .writeHead(url === "/.well-known/mta-sts.txt" ? site.status : 404, {
        "content-type": site.type,
        ...(site.location !== undefined && { location: site.location }),
      })
      .end(site.body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  site.port = (server.address() as AddressInfo).port;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return site;
}

const txt = (id: string): NameRecords => ({ records: { TXT: [`v=STSv1; id=${id};`] } });

async function open(
  t: TestContext,
  db: Db,
  {
    pair = web,
    mayConnect = () => true,
    clock = createManualClock(Date.UTC(2026, 0, 1)),
  }: { pair?: Pair; mayConnect?: (address: string) => boolean; clock?: ReturnType<typeof createManualClock> } = {},
) {
  const site = await startSite(t, pair);
  const names: Record<string, NameRecords> = {
    "_mta-sts.there.example": txt("1"),
    "mta-sts.there.example": { records: { A: ["127.0.0.1"] } },
  };
  const dns = await startDns(t, names);
  const make = () => {
    const made = createStsPolicies({
      table: createStsTable(db),
      fetch: createStsFetch({ resolver: dns, mayConnect, port: site.port, ca: pair.cert, timeoutMs: 10_000 }),
      resolveTxt: dns.resolveTxt,
      clock,
      log: silentLog,
    });
    t.after(() => made.close());
    return made;
  };
  return { site, names, dns, clock, make, policyFor: make().policyFor };
}

async function temporary(t: TestContext): Promise<Db> {
  const { mkdtempSync, rmSync } = await import("node:fs");
  const folder = mkdtempSync("/tmp/reelpost-sts-");
  const db = openSqlite({ path: `${folder}/test.db` });
  t.after(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });
  await migrate(db, [stsMigration]);
  return db;
}

const reportedAs = (mode: string, mx = "*.there.example") => ({
  type: "sts",
  lines: ["version: STSv1", `mode: ${mode}`, `mx: ${mx}`, "max_age: 604800"],
  mx: [mx],
});
const enforced = (mx: string) => ({ level: "verified", mx: [mx], reported: reportedAs("enforce", mx) });
const ENFORCED = enforced("*.there.example");
const failing = (answer: TlsPolicy | undefined) => `${answer?.level} ${answer?.reported?.failure?.type}`;

onEveryDatabase((engine) => {
  test("a policy is fetched once, shared across processes, and replaced when its id changes", async (t) => {
    const { db } = await engine.open(t, [stsMigration]);
    const { site, names, clock, make, policyFor } = await open(t, db);
    assert.deepEqual(await policyFor("there.example"), ENFORCED);
    clock.advance(10 * MINUTE);
    assert.deepEqual(await make().policyFor("there.example"), ENFORCED);
    assert.equal(site.fetched, 1);
    site.body = ENFORCE.replace("*.there", "mx.there");
    names["_mta-sts.there.example"] = txt("2");
    clock.advance(2 * MINUTE);
    assert.deepEqual(await policyFor("there.example"), enforced("mx.there.example"));
    assert.equal(site.fetched, 2);
  });

  test("a cached policy remains valid until it expires, even if its TXT record is deleted or its server fails", async (t) => {
    const { db } = await engine.open(t, [stsMigration]);
    const { site, names, clock, policyFor } = await open(t, db);
    assert.deepEqual(await policyFor("there.example"), ENFORCED);
    site.status = 500;
    const afterwards: (NameRecords | undefined)[] = [
      txt("2"),
      { fail: ["TXT"] },
      { records: {} },
      { records: { TXT: ["v=STSv1; id=1;", "v=STSv1; id=2;"] } },
    ];
    for (const entry of afterwards) {
      names["_mta-sts.there.example"] = entry!;
      clock.advance(6 * MINUTE);
      assert.deepEqual(await policyFor("there.example"), ENFORCED, JSON.stringify(entry));
    }
    clock.advance(7 * DAY);
    assert.equal(await policyFor("there.example"), undefined);
  });
});

test("an old policy is refetched in the background before it expires", async (t) => {
  const { site, clock, policyFor } = await open(t, await temporary(t));
  await policyFor("there.example");
  clock.advance(DAY + MINUTE);
  assert.deepEqual(await policyFor("there.example"), ENFORCED);
  while (site.fetched < 2) await new Promise((resolve) => void setTimeout(resolve, 1));
  // The lifetime counts from the second fetch, once its result has been stored.
  clock.advance(7 * DAY - 2 * MINUTE);
  const before = performance.now();
  while ((await policyFor("there.example")) === undefined && performance.now() - before < 60_000) clock.advance(1);
  assert.deepEqual(await policyFor("there.example"), ENFORCED);
});

test("an invalid policy, or one from an unauthorized host, leaves the domain without a policy and is not refetched immediately", async (t) => {
  const cases: [string, string, (site: Site) => void][] = [
    ["not found", "sts-policy-fetch-error", (site) => void (site.status = 404)],
    [
      "a redirect",
      "sts-policy-fetch-error",
      (site) => void ((site.status = 302), (site.location = "https://mta-sts.there.example/else")),
    ],
    ["an HTML page", "sts-policy-fetch-error", (site) => void (site.type = "text/html")],
    ["an invalid policy", "sts-policy-invalid", (site) => void (site.body = "hello")],
    [
      "an oversized policy",
      "sts-policy-fetch-error",
      (site) => void (site.body = `${ENFORCE}${"x: y\r\n".repeat(20_000)}`),
    ],
  ];
  for (const [what, type, change] of cases) {
    const { site, policyFor, clock } = await open(t, await temporary(t));
    change(site);
    assert.equal(failing(await policyFor("there.example")), `opportunistic ${type}`, what);
    clock.advance(2 * MINUTE);
    assert.equal(failing(await policyFor("there.example")), `opportunistic ${type}`, what);
    assert.equal(site.fetched, 1, what);
    clock.advance(6 * MINUTE);
    await policyFor("there.example");
    assert.equal(site.fetched, 2, what);
  }
  const wrong = await open(t, await temporary(t), { pair: selfSigned("there.example") });
  assert.equal(failing(await wrong.policyFor("there.example")), "opportunistic sts-webpki-invalid");
  assert.equal(wrong.site.fetched, 0, "the certificate is for another name");
  const inside = await open(t, await temporary(t), { mayConnect: (address) => address !== "127.0.0.1" });
  assert.equal(failing(await inside.policyFor("there.example")), "opportunistic sts-policy-fetch-error");
  assert.equal(inside.site.fetched, 0, "nothing is fetched from a private address");
});

test("fetches no policy without a record, and does not hold back mail in the testing and none modes", async (t) => {
  const { site, names, policyFor, clock } = await open(t, await temporary(t));
  assert.equal(await policyFor("other.example"), undefined);
  assert.equal(policyFor("[192.0.2.1]"), undefined);
  assert.equal(site.fetched, 0);
  const testing = { level: "opportunistic", reported: reportedAs("testing") };
  for (const [id, mode, expected] of [
    ["5", "testing", testing],
    ["6", "none", undefined],
  ] as const) {
    site.body = ENFORCE.replace("enforce", mode);
    names["_mta-sts.there.example"] = txt(id);
    clock.advance(2 * MINUTE);
    assert.deepEqual(await policyFor("there.example"), expected);
  }
  assert.equal(site.fetched, 2);
});

test("mail to a domain in enforce mode goes to the hosts listed in the policy, over verified TLS, or waits", async (t) => {
  const mx = selfSigned("mx.there.example");
  for (const [what, { pair, host, outcome }] of Object.entries({
    "a valid certificate": { pair: mx, host: "mx.there.example", outcome: "delivered" },
    "a certificate for another name": {
      pair: selfSigned("mx.else.example"),
      host: "mx.there.example",
      outcome: "temporary",
    },
    "no TLS": { pair: undefined, host: "mx.there.example", outcome: "temporary" },
    "a host that the policy does not list": {
      pair: selfSigned("mx.else.example"),
      host: "mx.else.example",
      outcome: "temporary",
    },
  })) {
    const { names, dns, policyFor, clock } = await open(t, await temporary(t));
    Object.assign(names, {
      "there.example": { records: { MX: [{ priority: 10, target: host }] } },
      [host]: { records: { A: ["127.0.0.1"] } },
    });
    const sink = await startSink(pair ?? {});
    const agent = createDeliveryAgent({
      clock,
      log: silentLog,
      name: "out.example",
      resolver: dns,
      port: sink.port,
      policyFor,
      ...(pair && { ca: pair.cert }),
    });
    t.after(() => agent.close());
    const {
      results: [result],
    } = await agent.deliver("there.example", deliveryRequestOf(["b@there.example"]), new AbortController().signal);
    assert.equal(result!.outcome, outcome, `${what}: ${result!.reply.text}`);
    assert.equal(sink.mails.length, outcome === "delivered" ? 1 : 0, what);
    if (outcome === "temporary") assert.equal(result!.reply.enhanced.slice(0, 3), "4.7", what);
  }
});
