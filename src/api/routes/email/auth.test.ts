import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Caller } from "../../../accounts/index.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { mailMigrations } from "../../../mail/index.ts";
import { createDmarcReporting } from "../../../mail/dmarc-reports/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../../store/index.ts";
import { createZones, zonesMigrations } from "../../../zones/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { emailAuthRoutes } from "./auth.ts";

async function start(t: TestContext, world: Record<string, string> = {}, caller: Caller = unrestrictedCaller) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-auth-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...zonesMigrations, ...mailMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(Date.UTC(2026, 10, 20));
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.reelpost.example"] });
  const resolveTxt = async (name: string) =>
    world[name] === undefined ? Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })) : [[world[name]]];
  const reports = createDmarcReporting({
    db,
    events,
    zones,
    clock,
    ids: { hex: () => "9".repeat(32) },
    domain: "reports.example",
    resolveTxt,
  });
  const { call } = await startApi(t, {
    routes: emailAuthRoutes({ zones, reports, clock, resolveTxt }),
    caller,
    accessControl: { zoneAccount: zones.zoneAccount },
  });
  t.after(async () => {
    reports.close();
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const zone = await zones.create({ account: TEST_ACCOUNT, name: "example.com" });
  return { call, base: `/zones/${zone.id}/email/auth`, zone, zones, reports };
}

test("DMARC reports are read, enabled and disabled in the published format", async (t) => {
  const { call, base, zone, zones } = await start(t);
  await zones.records.create(zone, { type: "TXT", name: "@", content: "v=spf1 -all" });
  await zones.records.create(zone, { type: "TXT", name: "x._domainkey", content: "v=DKIM1; p=" });
  const { result } = (await call("get", `${base}/dmarc-reports`)).body;
  const { records, ...rest } = result;
  assert.deepEqual(rest, {
    zone_id: zone.id,
    tag: zone.id,
    enabled: false,
    skip_wizard: false,
    rua_prefix: "9".repeat(32),
    status: "missing-dmarc-report",
    created_at: "2026-11-20T00:00:00.000Z",
    modified_at: "2026-11-20T00:00:00.000Z",
    created: "2026-11-20T00:00:00.000Z",
    modified: "2026-11-20T00:00:00.000Z",
  });
  assert.deepEqual(
    [
      records.spf_records.map(({ content }: { content: string }) => content),
      records.dkim_records.length,
      records.dmarc_records,
    ],
    [["v=spf1 -all"], 1, []],
  );
  const on = (await call("patch", `${base}/dmarc-reports`, { body: { enabled: true } })).body.result;
  assert.deepEqual(
    [on.enabled, "status" in on, on.records.dmarc_records[0].content],
    [true, false, `v=DMARC1; p=none; rua=mailto:${"9".repeat(32)}@reports.example;`],
  );
  assert.equal(
    (await call("patch", `${base}/dmarc-reports`, { body: { enabled: false, skip_wizard: true } })).body.result.status,
    "missing-dmarc-rua",
  );
  for (const body of [{}, { enabled: null }])
    assert.equal((await call("patch", `${base}/dmarc-reports`, { body })).status, 400);
});

test("DMARC statistics cover the last 30 days or the requested period", async (t) => {
  const { call, base, zone, reports } = await start(t);
  const xml = `<feedback><report_metadata><org_name>Big Mail</org_name><report_id>1</report_id><date_range><begin>${Date.UTC(2026, 9, 22) / 1000}</begin><end>${Date.UTC(2026, 9, 23) / 1000}</end></date_range></report_metadata>
    <policy_published><domain>example.com</domain></policy_published><record><row><source_ip>192.0.2.1</source_ip><count>3</count><policy_evaluated><disposition>reject</disposition><dkim>fail</dkim><spf>pass</spf></policy_evaluated></row>
    <identifiers><header_from>example.com</header_from></identifiers></record></feedback>`;
  const message = Buffer.from(`Content-Type: application/xml\r\n\r\n${xml}`);
  const verdict = {
    spf: { result: "pass", domain: "big.example", identity: "mailfrom" },
    dkim: [],
    dmarc: { result: "pass", from: "big.example", aligned: {} },
  } as const;
  assert.deepEqual(
    await reports.accept({
      zone: zone.id,
      envelope: { from: "r@big.example" },
      source: { size: message.length, open: () => message },
      verdict: { ...verdict, dkim: [] },
    }),
    { recorded: true },
  );

  const counts = { messages: 3, passed: 3, dkim_aligned: 0, spf_aligned: 3, quarantined: 0, rejected: 3 };
  assert.deepEqual((await call("get", `${base}/dmarc-reports/statistics`)).body.result, {
    since: "2026-10-22",
    until: "2026-11-20",
    reports: 1,
    totals: counts,
    days: [{ day: "2026-10-22", ...counts }],
    domains: [{ domain: "example.com", ...counts }],
    sources: [{ source_ip: "192.0.2.1", ...counts }],
    reporters: [{ org_name: "Big Mail", sender: "big.example", ...counts }],
  });
  const later = (await call("get", `${base}/dmarc-reports/statistics?since=2026-10-23&domain=Example.com.`)).body
    .result;
  assert.deepEqual([later.reports, later.totals.messages, later.days], [0, 0, []]);
  for (const query of ["since=2026-11-21", "since=yesterday", "limit=0", "domain=%25"])
    assert.equal((await call("get", `${base}/dmarc-reports/statistics?${query}`)).status, 400, query);
});

test("an SPF record is inspected by its id", async (t) => {
  const { call, base, zone, zones } = await start(t, { "b.example": "v=spf1 ip4:192.0.2.1 ~all" });
  const { id } = await zones.records.create(zone, {
    type: "TXT",
    name: "@",
    content: "v=spf1 include:b.example include:c.example -all",
  });
  const { result } = (await call("get", `${base}/spf/inspect?id=${id}`)).body;
  assert.deepEqual(result, {
    domain: "example.com",
    record: "v=spf1 include:b.example include:c.example -all",
    total_lookups: 2,
    components: [
      {
        type: "INCLUDE",
        value: "include:b.example",
        result: "pass",
        lookup_count: 1,
        nested: {
          domain: "b.example",
          record: "v=spf1 ip4:192.0.2.1 ~all",
          total_lookups: 0,
          components: [
            { type: "IP4", value: "192.0.2.1", result: "pass", lookup_count: 0 },
            { type: "ALL", value: "~all", result: "soft_fail", lookup_count: 0 },
          ],
        },
      },
      { type: "INCLUDE", value: "include:c.example", result: "pass", lookup_count: 1 },
      { type: "ALL", value: "-all", result: "fail", lookup_count: 0 },
    ],
    errors: [{ code: "spf_not_found", domain: "c.example", message: "The domain has no SPF record" }],
  });
  const other = await zones.records.create(zone, { type: "TXT", name: "@", content: "hello" });
  assert.equal((await call("get", `${base}/spf/inspect?id=${other.id}`)).status, 400);
  assert.equal((await call("get", `${base}/spf/inspect`)).status, 400);
  assert.equal((await call("get", `${base}/spf/inspect?id=${"0".repeat(32)}`)).status, 404);
});

test("a token needs the corresponding permission", async (t) => {
  const { call, base } = await start(t, {}, { ...unrestrictedCaller, allows: () => false });
  for (const [method, path] of [
    ["get", "dmarc-reports"],
    ["patch", "dmarc-reports"],
    ["get", "dmarc-reports/statistics"],
    ["get", "tls-reports/statistics"],
    ["get", "spf/inspect?id=x"],
  ] as const)
    assert.equal(
      (await call(method, `${base}/${path}`, method === "patch" ? { body: { enabled: true } } : {})).status,
      403,
    );
});
