import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { randomIds } from "../../kernel/index.ts";
import { createAuthenticator } from "../authenticate/index.ts";
import { tableResolver } from "../authenticate/suites.testing.ts";
import { memoryTrace, memoryTransport, newSpool, runtimeOf, log } from "../mail.testing.ts";
import { createReceiver } from "../receive.ts";
import { openRouting } from "../routing/routing.testing.ts";
import { aggregateXml, reportMessage, tlsJson, zipOf, type AggregateFixture } from "./report-file.testing.ts";
import { createDmarcReporting, type DmarcReportingOptions } from "./reports.ts";

const DAY = 86_400_000;
const DOMAIN = "reports.us.example";
/** Reporters with an SPF record for 192.0.2.10. */
const WORLD = {
  "big.example TXT": [["v=spf1 ip4:192.0.2.10 -all"]],
  "_dmarc.big.example TXT": [["v=DMARC1; p=reject"]],
  "small.example TXT": [["v=spf1 ip4:192.0.2.10 -all"]],
};

async function open(
  t: Parameters<typeof openRouting>[0],
  engine: TestEngine,
  bounds: DmarcReportingOptions["bounds"] = {},
) {
  const { db, events, zones, clock, newZone } = await openRouting(t, engine);
  const reports = createDmarcReporting({
    db,
    events,
    zones,
    clock,
    ids: randomIds,
    domain: DOMAIN,
    resolveTxt: async () => [],
    bounds,
  });
  const authenticator = createAuthenticator({ resolver: tableResolver(WORLD), authservId: "mx.us.example", clock });
  const spool = await newSpool();
  const trace = memoryTrace();
  const receiver = createReceiver({
    runtime: runtimeOf({}),
    transport: memoryTransport(),
    spool,
    trace,
    clock,
    ids: randomIds,
    log,
    authenticator,
    reports,
    route: async (rcpt) => {
      const at = await reports.zoneByAddress(rcpt);
      return at === undefined ? { kind: "none" } : { kind: "report", ...at };
    },
  });
  t.after(async () => {
    reports.close();
    await authenticator.close();
  });
  const zone = await newZone();
  const { ruaPrefix } = await reports.update(zone, { enabled: true });

  return {
    reports,
    zones,
    zone,
    clock,
    newZone,
    db,
    now: clock.now(),
    /** Undefined if the report was recorded. */
    async receive(
      message: Buffer,
      { from = "r@big.example", ip = "192.0.2.10", to = `${ruaPrefix}@${DOMAIN}` } = {},
    ): Promise<string | undefined> {
      const source = spool.fromMemory(message);
      const [settled] = await receiver.receive({ from, to: [to], helo: "mx.big.example", ip, smtputf8: false }, source);
      if (!settled!.ok) return `${settled!.reply.code} ${settled!.reply.enhanced}`;
      const last = trace.events.find(
        (event) => event.message === source.id && (event.step === "handled" || event.step === "dropped"),
      )!;
      assert.equal(last.zone, zone.id);
      return last.step === "handled" ? undefined : String(last.detail["why"]);
    },
    report: (fixture: AggregateFixture = {}, from?: string) =>
      reportMessage(
        gzipSync(aggregateXml({ begin: clock.now() - (clock.now() % DAY) - DAY, ...fixture })),
        "application/gzip",
        from,
      ),
    statistics: (more: { domain?: string; since?: string } = {}) =>
      reports.statistics(zone.id, { since: "2024-01-01", until: "2027-12-31", limit: 10, ...more }),
  };
}

describe("aggregate reports received by mail", () => {
  onEveryDatabase((engine) => {
    test("are aggregated by day, author domain, source and reporter", async (t) => {
      const { receive, report, statistics } = await open(t, engine);
      const records = [
        { count: 10 },
        { ip: "198.51.100.7", count: 4, dkim: "fail", spf: "fail", disposition: "reject" },
        { ip: "198.51.100.7", count: 2, dkim: "fail", from: "news.example.com", disposition: "quarantine" },
      ];
      assert.equal(await receive(report({ records })), undefined);
      assert.equal(
        await receive(
          reportMessage(
            zipOf("a.xml", aggregateXml({ reportId: "r2", begin: Date.UTC(2025, 11, 24), records: [{ count: 1 }] })),
          ),
        ),
        undefined,
      );
      const found = await statistics();
      assert.deepEqual(
        [found.reports, found.totals],
        [2, { messages: 17, passed: 13, dkimAligned: 11, spfAligned: 13, quarantined: 2, rejected: 4 }],
      );
      assert.deepEqual(
        found.days.map(({ day, messages }) => `${day} ${messages}`),
        ["2025-12-24 1", "2026-01-01 16"],
      );
      assert.deepEqual(
        found.domains.map(({ domain, messages, passed }) => `${domain} ${messages} ${passed}`),
        ["example.com 15 11", "news.example.com 2 2"],
      );
      assert.deepEqual(
        found.sources.map(({ sourceIp, messages, passed }) => `${sourceIp} ${messages} ${passed}`),
        ["192.0.2.1 11 11", "198.51.100.7 6 2"],
      );
      assert.deepEqual(
        found.reporters.map(({ orgName, sender, messages }) => `${orgName} ${sender} ${messages}`),
        ["Big Mail big.example 17"],
      );
      const below = await statistics({ domain: "news.example.com" });
      assert.deepEqual([below.totals.messages, below.domains.length], [2, 1]);
      const later = await statistics({ since: "2026-01-01" });
      assert.deepEqual([later.reports, later.totals.messages], [1, 16]);
    });

    test("count once, even if two servers receive them concurrently", async (t) => {
      const { receive, report, statistics } = await open(t, engine);
      const message = report({ records: [{ count: 3 }] });
      assert.deepEqual((await Promise.all([receive(message), receive(message)])).sort(), [
        "the report was recorded before",
        undefined,
      ]);
      assert.equal(await receive(report({ records: [{ count: 5 }] })), "the report was recorded before");
      // Another sender cannot claim the same report id.
      assert.equal(
        await receive(report({ records: [{ count: 7 }] }, "x@small.example"), { from: "x@small.example" }),
        undefined,
      );
      assert.equal((await statistics()).totals.messages, 10);
    });

    test("are not recorded from unauthenticated senders, or about other domains", async (t) => {
      const { receive, report, reports, zone, statistics, now } = await open(t, engine);
      assert.equal(await receive(report(), { ip: "203.0.113.9" }), "550 5.7.1");
      // Without a DMARC record anyone can use the author domain, so the domain of the envelope sender is shown.
      assert.equal(
        await receive(report({ orgName: "Big Mail" }, "r@nowhere.example"), { from: "x@small.example" }),
        undefined,
      );
      assert.deepEqual(
        (await statistics()).reporters.map(({ orgName, sender }) => `${orgName} ${sender}`),
        ["Big Mail small.example"],
      );
      const unknown = {
        spf: { result: "none", domain: "small.example", identity: "mailfrom" } as const,
        dkim: [],
        dmarc: { result: "none", from: "small.example", aligned: {} } as const,
      };
      for (const verdict of [
        undefined,
        { ...unknown, dmarc: { ...unknown.dmarc } },
        { ...unknown, dmarc: { result: "fail" as const, from: "small.example", aligned: {} } },
      ]) {
        const message = report({ reportId: "forged" });
        assert.deepEqual(
          await reports.accept({
            zone: zone.id,
            envelope: { from: "x@small.example" },
            source: { size: message.length, open: () => message },
            verdict,
          }),
          { recorded: false, why: "the sender is not authenticated" },
        );
      }
      const message = report({ reportId: "later" });
      await assert.rejects(
        reports.accept({
          zone: zone.id,
          envelope: { from: "x@small.example" },
          source: { size: message.length, open: () => message },
          verdict: { ...unknown, dmarc: { result: "temperror", from: "small.example", aligned: {} } },
        }),
        /DNS lookup failed \(the DMARC record of small\.example\), try again later/,
      );
      for (const domain of ["example.org", "notexample.com", "com"])
        assert.equal(
          await receive(report({ domain })),
          `the report is about ${domain}, which is not in the zone example.com`,
        );
      assert.equal(await receive(report({ domain: "mail.example.com" })), undefined);
      assert.match(
        (await receive(report({ reportId: "old", begin: now - (now % DAY) - 401 * DAY })))!,
        /which is not in the last 400 days$/,
      );
      assert.match(
        (await receive(report({ reportId: "new", begin: now - (now % DAY) + 3 * DAY })))!,
        /which is not in the last 400 days$/,
      );
      assert.equal(
        await receive(Buffer.from("From: r@big.example\r\n\r\nhello")),
        "the message has no report attached",
      );
      assert.equal((await statistics()).reports, 2);
    });

    test("are limited per sender, by rows per zone and by age", async (t) => {
      const { receive, report, statistics, clock, reports, now } = await open(t, engine, {
        perSender: 3,
        rowsPerZone: 5,
      });
      const yesterday = now - (now % DAY) - DAY;
      const rows = (count: number, first = 1) =>
        Array.from({ length: count }, (_, i) => ({ ip: `192.0.2.${first + i}` }));
      assert.equal(await receive(report({ reportId: "a", begin: yesterday - DAY, records: rows(3) })), undefined);
      assert.equal(await receive(report({ reportId: "b", begin: yesterday, records: rows(2) })), undefined);
      assert.equal((await statistics()).totals.messages, 5);
      assert.equal(await receive(report({ reportId: "c", begin: yesterday, records: rows(2, 10) })), undefined);
      // The older day was deleted.
      assert.deepEqual(
        (await statistics()).days.map(({ day, messages }) => `${day} ${messages}`),
        ["2026-01-01 4"],
      );
      assert.equal(await receive(report({ reportId: "d" })), "the sender has sent too many reports today");
      clock.advance(DAY);
      assert.equal(await receive(report({ reportId: "d", records: rows(1) })), undefined);
      clock.advance(399 * DAY);
      await reports.deleteOrphans();
      const left = await statistics();
      assert.deepEqual([left.reports, left.days.map(({ day }) => day)], [1, ["2026-01-02"]]);
      clock.advance(2 * DAY);
      await reports.deleteOrphans();
      assert.deepEqual([(await statistics()).reports, (await statistics()).totals.messages], [0, 0]);
    });

    test("about TLS are aggregated by day, policy, failure and reporter", async (t) => {
      const { receive, reports, zone, zones, newZone, now } = await open(t, engine);
      const begin = now - (now % DAY) - DAY;
      const tls = (fixture: Parameters<typeof tlsJson>[0]) =>
        reportMessage(gzipSync(tlsJson({ begin, ...fixture })), "application/tlsrpt+gzip");
      assert.equal(
        await receive(tls({ successful: 90, failures: { "certificate-expired": 7, "starttls-not-supported": 3 } })),
        undefined,
      );
      assert.equal(await receive(tls({ successful: 90 })), "the report was recorded before");
      assert.equal(
        await receive(
          tls({ reportId: "t2", domain: "mail.example.com", successful: 5, failures: { "certificate-expired": 1 } }),
        ),
        undefined,
      );
      assert.equal(
        await receive(tls({ reportId: "t3", domain: "example.org" })),
        "the report is about example.org, which is not in the zone example.com",
      );
      const request = { since: "2026-01-01", until: "2026-01-31", limit: 10 };
      const found = await reports.tlsStatistics(zone.id, request);
      assert.deepEqual(
        [found.reports, found.totals, found.days],
        [2, { successful: 95, failed: 11 }, [{ day: "2026-01-01", successful: 95, failed: 11 }]],
      );
      assert.deepEqual(found.policies, [
        { domain: "example.com", policyType: "sts", successful: 90, failed: 10 },
        { domain: "mail.example.com", policyType: "sts", successful: 5, failed: 1 },
      ]);
      assert.deepEqual(found.failures, [
        { resultType: "certificate-expired", receivingMx: "mx1.mail.example.com", sessions: 8 },
        { resultType: "starttls-not-supported", receivingMx: "mx1.mail.example.com", sessions: 3 },
      ]);
      assert.deepEqual(found.reporters, [{ orgName: "Big Mail", sender: "big.example", successful: 95, failed: 11 }]);
      assert.deepEqual((await reports.tlsStatistics(zone.id, { ...request, domain: "mail.example.com" })).totals, {
        successful: 5,
        failed: 1,
      });
      assert.equal((await reports.statistics(zone.id, request)).reports, 0);

      // Without DMARC reports, the address works as soon as it is published.
      const other = await newZone("other.example");
      const uri = await reports.tlsReportUri(other);
      assert.deepEqual(
        [await reports.tlsReportUri(other), await reports.zoneByAddress(uri.replace("mailto:", ""))],
        [uri, { zone: other.id, account: other.account }],
      );
      assert.equal((await reports.of(other)).enabled, false);

      await zones.delete(zone.id);
      await reports.deleteOrphans();
      assert.deepEqual((await reports.tlsStatistics(zone.id, request)).totals, { successful: 0, failed: 0 });
    });

    test("are deleted with their zone", async (t) => {
      const { receive, report, statistics, zones, zone, reports } = await open(t, engine);
      assert.equal(await receive(report()), undefined);
      await zones.delete(zone.id);
      await reports.deleteOrphans();
      assert.deepEqual([(await statistics()).reports, (await statistics()).totals.messages], [0, 0]);
    });
  });
});
