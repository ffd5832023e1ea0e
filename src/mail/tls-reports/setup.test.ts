import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createLifecycle, createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createMetrics } from "../../kernel/metrics.ts";
import { settingsSchema, type SettingsInput } from "../../kernel/settings.ts";
import { createSigner } from "../authenticate/sign.ts";
import { readReportFile } from "../dmarc-reports/report-file.ts";
import { readTlsReport } from "../dmarc-reports/tls-report.ts";
import { createSpool } from "../messages/spool.ts";
import type { Outbound } from "../messages/types.ts";
import { mailMigrations } from "../migrations.ts";
import { selfSigned } from "../outbound/certificate.testing.ts";
import { resolverOf, startSink } from "../outbound/outbound.testing.ts";
import { setUpOutbound } from "../outbound/setup.ts";
import { createSystemMail } from "../system-mail/system-mail.ts";
import { setUpTlsReports } from "./setup.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
  localSweeps,
} from "../../store/index.ts";
import { generateKeyPairSync } from "node:crypto";

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;

const absent = async () => Promise.reject(Object.assign(new Error("none"), { code: "ENOTFOUND" }));

async function open(t: TestContext, input: SettingsInput) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-tls-reports-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...mailMigrations]);
  const clock = createManualClock(NOON);
  const lifecycle = createLifecycle({ log: silentLog });
  const basics = { clock, ids: randomIds, log: silentLog, lifecycle };
  t.after(async () => {
    await lifecycle.stop();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const events = createLocalEvents({ log: silentLog });
  const store = {
    db,
    events,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    sweeps: localSweeps,
    jobs: createJobs({ db, events, ...basics }),
  };
  const lookups = {
    ...resolverOf({
      "there.example": { mx: [[10, "mx.there.example"]] },
      "mx.there.example": { a: ["127.0.0.1"] },
    }),
    query: absent,
    resolveTxt: async (name: string) =>
      name === "_smtp._tls.there.example" ? [["v=TLSRPTv1; rua=mailto:tls@there.example"]] : absent(),
  };
  const settings = settingsSchema.parse(input);
  const reports = setUpTlsReports({ store, settings, lookups }, basics);
  const outbound = setUpOutbound(
    {
      store,
      settings,
      lookups,
      metrics: createMetrics({ processMetrics: false }),
      trace: () => {},
      files: { deliver: async () => [] },
      isLocal: async () => false,
      tlsResults: reports?.results,
    },
    basics,
  );
  const privateKey = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const systemMail = createSystemMail({
    transport: outbound.queue,
    spool: createSpool({ dir: join(folder, "spool"), ids: randomIds }),
    signer: createSigner({ clock }),
    keys: async () => [{ domain: "out.example", selector: "s", privateKey, algorithm: "ed25519" as const }],
    bounces: false,
    trace: () => {},
    clock,
  });
  return { outbound, reports, systemMail, clock };
}

test("sends the report of a day over SMTP, and the parser for received reports accepts it", async (t) => {
  const sink = await startSink(selfSigned("mx.there.example"));
  const { outbound, reports, systemMail, clock } = await open(t, {
    outbound: { deliver: "mx", port: sink.port, allow_private: true },
    email: { forward_domain: "out.example", postmaster: "ops@out.example" },
  });
  outbound.start();
  const mail: Outbound = {
    messageId: "<1@out.example>",
    cause: "send",
    from: "a@out.example",
    to: ["b@there.example"],
    raw: () => Buffer.from("From: a@out.example\r\n\r\nhello\r\n"),
  };
  assert.equal((await outbound.relay.deliver(mail))[0]!.ok, true);
  let queued = false;
  reports!.start({ deliver: async (one) => systemMail.deliver(one).finally(() => (queued = true)) });
  await reports!.flush();
  for (const start = performance.now(); sink.mails.length < 2 && performance.now() - start < 60_000;) {
    // Once the report is queued, its delivery holds a lease of seconds.
    clock.advance(queued ? 100 : HOUR / 2);
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
  const [, report] = sink.mails;
  assert.deepEqual([report!.from, report!.to], ["tls-reports@out.example", ["tls@there.example"]]);
  assert.match(report!.raw, /^DKIM-Signature: v=1; a=ed25519-sha256;[^]*d=out\.example/);
  const file = await readReportFile(Buffer.from(report!.raw, "latin1"));
  assert.ok(file.ok, JSON.stringify(file));
  const reading = readTlsReport(file.content);
  assert.ok(reading.ok, JSON.stringify(reading));
  assert.deepEqual(reading.report.policies, [
    { type: "no-policy-found", domain: "there.example", successful: 1, failed: 0, failures: [] },
  ]);
});

test("sends no reports if disabled, without a public name, or with a smart host", async (t) => {
  const email = { forward_domain: "out.example" };
  for (const input of [
    { outbound: { deliver: "mx", tls_reports: false }, email },
    { outbound: { deliver: "mx" } },
    { outbound: { deliver: "smart_host", smart_hosts: ["smtp://127.0.0.1:9"] }, email },
    { outbound: { deliver: "files" }, email },
  ] satisfies SettingsInput[])
    assert.equal((await open(t, input)).reports, undefined, JSON.stringify(input));
});
