import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createJobs, createLocalEvents, jobsMigrations } from "../../store/index.ts";
import { readReportFile } from "../dmarc-reports/report-file.ts";
import { readTlsReport } from "../dmarc-reports/tls-report.ts";
import type { Outbound, DeliveryResult } from "../messages/types.ts";
import { selfSigned } from "../outbound/certificate.testing.ts";
import type { TlsResult } from "../outbound/types.ts";
import { createTlsReports } from "./reports.ts";
import { tlsReportsMigration } from "./results-table.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 1, 12);
const REPORTER = { domain: "out.example", organization: "Example Mail", contact: "ops@out.example" };
const pair = selfSigned("reporting.there.example");

const sts: TlsResult["policy"] = {
  type: "sts",
  lines: ["version: STSv1", "mode: testing", "mx: *.there.example", "max_age: 86400"],
  mx: ["*.there.example"],
};
const resultOf = (domain: string, more: Partial<TlsResult> = {}): TlsResult => ({
  domain,
  policy: sts,
  mx: `mx.${domain}`,
  ip: "192.0.2.1",
  sendingIp: "8.8.8.8",
  ...more,
});
const expired = { failure: { type: "certificate-expired", reason: "CERT_HAS_EXPIRED" } } as const;

async function open(t: TestContext, engine: TestEngine, records: Record<string, string | Error> = {}) {
  const { db } = await engine.open(t, [...jobsMigrations, tlsReportsMigration]);
  const clock = createManualClock(NOON);
  const state = { mails: [] as Outbound[], posts: [] as { type: string; body: Buffer }[], queries: [] as string[] };
  let answers: DeliveryResult[] = [];
  /** Number of POST requests that the site rejects first. */
  let failing = 0;
  const site = createServer(pair, async (request, response) => {
    state.posts.push({ type: request.headers["content-type"] ?? "", body: Buffer.concat(await request.toArray()) });
    response.writeHead(state.posts.length <= failing ? 503 : 201).end();
  });
  await once(site.listen(0, "127.0.0.1"), "listening");
  t.after(() => site.close());
  const url = `https://reporting.there.example:${(site.address() as AddressInfo).port}/v1`;
  const make = () => {
    const events = createLocalEvents({ log: silentLog });
    const made = createTlsReports({
      db,
      clock,
      log: silentLog,
      jobs: createJobs({ db, clock, ids: randomIds, events, log: silentLog }),
      reporter: REPORTER,
      fetch: createGuardedFetch({ allowPrivate: true, lookup: async () => ["127.0.0.1"], ca: pair.cert }),
      limits: { pollMs: 1000 },
      async resolveTxt(name) {
        state.queries.push(name);
        const found = records[name.slice("_smtp._tls.".length)] ?? Object.assign(new Error(), { code: "ENOTFOUND" });
        if (found instanceof Error) throw found;
        return [[found.replace("{url}", url)]];
      },
    });
    t.after(() => made.close());
    return made;
  };
  const transport = {
    async deliver(mail: Outbound): Promise<DeliveryResult[]> {
      state.mails.push(mail);
      return [answers.shift() ?? { rcpt: mail.to[0]!, ok: true }];
    },
  };
  const jobTable = db.tables<{ jobs: { status: string; run_at: number } }>();
  const planned = () => db.read(jobTable.selectFrom("jobs").select("status"));
  const due = () =>
    db.read(
      jobTable
        .selectFrom("jobs")
        .select("status")
        .where((is) =>
          is.or([is("status", "=", "running"), is("status", "=", "waiting").and("run_at", "<=", clock.now())]),
        ),
    );
  /**
   * Advances the clock in steps of half an hour, for at most `hours`, until the condition is met. Due jobs finish
   * first, because otherwise their leases would expire.
   */
  async function pass(hours: number, until: () => boolean = () => false) {
    while ((await planned()).length === 0) await new Promise((resolve) => void setTimeout(resolve, 5));
    for (let step = 0; step < hours * 2 && !until(); step++) {
      clock.advance(HOUR / 2);
      do {
        clock.advance(1000);
        await new Promise((resolve) => void setTimeout(resolve, 5));
      } while ((await due()).length > 0);
    }
  }
  const answerWith = (next: { mail?: DeliveryResult[]; failing?: number }) => {
    answers = next.mail ?? answers;
    failing = next.failing ?? failing;
  };
  return { ...state, state, clock, make, transport, pass, answerWith, records };
}

const readMail = async (mail: Outbound) => {
  const file = await readReportFile(Buffer.from(mail.raw() as Uint8Array));
  assert.ok(file.ok, JSON.stringify(file));
  const reading = readTlsReport(file.content);
  assert.ok(reading.ok, JSON.stringify(reading));
  return reading.report;
};

onEveryDatabase((engine) => {
  test("mails one report for the past day, which the parser for received reports accepts", async (t) => {
    const { make, transport, pass, mails, queries } = await open(t, engine, {
      "there.example": "v=TLSRPTv1; rua=mailto:tls@there.example",
    });
    const reports = make();
    for (const more of [{}, {}, expired]) reports.results.record(resultOf("there.example", more));
    reports.results.record(resultOf("there.example", { policy: { type: "no-policy-found", lines: [], mx: [] } }));
    reports.results.record(resultOf("silent.example"));
    await reports.close();
    const next = make();
    next.start(transport);
    await pass(11.5);
    assert.deepEqual([mails.length, queries.length], [0, 0], "the day has not ended");
    await pass(30);
    assert.deepEqual(queries.toSorted(), ["_smtp._tls.silent.example", "_smtp._tls.there.example"]);
    const [mail, ...others] = mails as [Outbound];
    assert.equal(others.length, 0);
    assert.deepEqual([mail.from, mail.to], ["tls-reports@out.example", ["tls@there.example"]]);
    const report = await readMail(mail);
    assert.equal(`<${report.reportId}>`, mail.messageId);
    assert.deepEqual(
      { ...report, reportId: "", policies: report.policies.toSorted((a, b) => (a.type < b.type ? -1 : 1)) },
      {
        orgName: "Example Mail",
        reportId: "",
        begin: Date.UTC(2026, 0, 1),
        end: Date.UTC(2026, 0, 1, 23, 59, 59),
        policies: [
          { type: "no-policy-found", domain: "there.example", successful: 1, failed: 0, failures: [] },
          {
            type: "sts",
            domain: "there.example",
            successful: 2,
            failed: 1,
            failures: [
              { resultType: "certificate-expired", receivingMx: "mx.there.example", sendingIp: "8.8.8.8", sessions: 1 },
            ],
          },
        ],
      },
    );
    const text = Buffer.from(mail.raw() as Uint8Array).toString();
    for (const line of [
      /^From: tls-reports@out\.example\r$/m,
      /^TLS-Report-Domain: there\.example\r$/m,
      /^TLS-Report-Submitter: out\.example\r$/m,
      /^Content-Type: multipart\/report; report-type="tlsrpt";\r$/m,
      /^Content-Type: application\/tlsrpt\+gzip\r$/m,
      /filename="out\.example!there\.example!1767225600!1767311999\.json\.gz"\r$/m,
    ])
      assert.match(text, line);
  });

  test("posts a report to an https address, with retries, and mails it only once", async (t) => {
    const { make, transport, pass, answerWith, mails, posts } = await open(t, engine, {
      "there.example": "v=TLSRPTv1; rua=mailto:tls@there.example,{url}",
    });
    const reports = make();
    reports.results.record(resultOf("there.example"));
    answerWith({ failing: 2 });
    await reports.close();
    make().start(transport);
    await pass(40);
    assert.deepEqual([mails.length, posts.length], [1, 3]);
    for (const { type, body } of posts) {
      assert.equal(type, "application/tlsrpt+gzip");
      assert.deepEqual(readTlsReport(gunzipSync(body)).ok, true);
    }
  });

  test("stops after six attempts", async (t) => {
    const { make, transport, pass, mails, answerWith } = await open(t, engine, {
      "there.example": "v=TLSRPTv1; rua=mailto:tls@there.example",
    });
    const reports = make();
    reports.results.record(resultOf("there.example"));
    await reports.close();
    const full = {
      rcpt: "",
      ok: false,
      temporary: true,
      reply: { code: 452, enhanced: "4.3.1", text: "full" },
    } as const;
    answerWith({ mail: Array.from({ length: 20 }, () => full) });
    make().start(transport);
    await pass(60);
    assert.equal(mails.length, 6);
    assert.equal(new Set(mails.map(({ messageId }) => messageId)).size, 1);
  });

  test("retries after a DNS failure", async (t) => {
    const { make, transport, pass, mails, queries, records } = await open(t, engine, {
      "there.example": Object.assign(new Error("SERVFAIL"), { code: "ESERVFAIL" }),
    });
    const reports = make();
    reports.results.record(resultOf("there.example"));
    await reports.close();
    make().start(transport);
    await pass(30, () => queries.length === 1);
    records["there.example"] = "v=TLSRPTv1; rua=mailto:tls@there.example";
    await pass(24);
    assert.equal(mails.length, 1);
  });

  test("sends only one report from two processes", async (t) => {
    const { make, transport, pass, mails } = await open(t, engine, {
      "there.example": "v=TLSRPTv1; rua=mailto:tls@there.example",
    });
    const [one, other] = [make(), make()];
    for (const each of [one, other]) {
      each.results.record(resultOf("there.example"));
      await each.close();
    }
    for (const each of [make(), make()]) each.start(transport);
    await pass(40);
    assert.equal(mails.length, 1);
    assert.equal((await readMail(mails[0]!)).policies[0]!.successful, 2);
  });
});
