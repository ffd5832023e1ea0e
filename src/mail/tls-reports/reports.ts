import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Db, Job, JobContext, Jobs, JobWorker } from "../../store/index.ts";
import type { Transport } from "../messages/index.ts";
import { composeReportMail } from "./report-mail.ts";
import { buildTlsReport, type TlsReportFile } from "./report.ts";
import { reportTargetUri, readTlsrptRecord, type ReportTarget } from "./record.ts";
import { createResultLog, DAY_MS, type ResultLogLimits } from "./result-log.ts";
import { createTlsResultsTable, type DomainDay } from "./results-table.ts";
import type { ReportingOrganization, TlsCount, TlsReports } from "./types.ts";

interface TlsReportsDeps {
  db: Db;
  jobs: Jobs;
  clock: Clock;
  log: Log;
  reporter: ReportingOrganization;
  /** Has the signature of `resolveTxt` in node:dns/promises. */
  resolveTxt: (name: string) => Promise<string[][]>;
  /** Posts reports to https addresses. */
  fetch: GuardedFetch;
  random?: () => number;
  limits?: Partial<TlsReportLimits>;
}

interface TlsReportLimits extends ResultLogLimits {
  /** Reports are sent at random times within this span after the day (RFC 8460 4.1). */
  spreadMs: number;
  pollMs: number;
}

const HOUR_MS = 3_600_000;
const PLAN_JOB = "mail.tls-reports";
const SEND_JOB = "mail.tls-report";
/** Delay after midnight before a day is processed: by then all processes have stored their counts. */
const PLAN_DELAY_MS = HOUR_MS / 4;
const LIMITS = { spreadMs: 4 * HOUR_MS, pollMs: 30_000 };
/**
 * Attempts over about five hours in total, with delays that double from ten minutes. RFC 8460 5.5: at most one day.
 */
const MAX_ATTEMPTS = 6;
const BACKOFF_MS = HOUR_MS / 6;
/** Number of past days that are still reported after the server was down. */
const RETENTION_DAYS = 3;
const MAX_ROWS = 1000;
const PAGE_SIZE = 500;
const SEND_TIMEOUT_MS = 60_000;

export function createTlsReports({
  db,
  jobs,
  clock,
  log,
  reporter,
  resolveTxt,
  fetch,
  random = Math.random,
  limits: changes,
}: TlsReportsDeps): TlsReports {
  const limits = { ...LIMITS, ...changes };
  const table = createTlsResultsTable(db);
  const counts = createResultLog({ table, clock, log, ...(changes && { limits: changes }) });
  const sender = `tls-reports@${reporter.domain}`;
  const today = () => Math.floor(clock.now() / DAY_MS);
  let workers: JobWorker[] = [];

  /** Creates one job for each past day and domain. */
  async function plan(): Promise<void> {
    await table.expire(today() - RETENTION_DAYS);
    for (let after: DomainDay | undefined = { day: 0, domain: "" }; after !== undefined;) {
      const page: DomainDay[] = await table.daysBefore(today(), after, PAGE_SIZE);
      for (const { day, domain } of page)
        await jobs.enqueue(
          SEND_JOB,
          { day, domain },
          {
            key: `${day}/${domain}`,
            runAt: new Date(clock.now() + random() * limits.spreadMs),
            attempts: MAX_ATTEMPTS,
          },
        );
      after = page.length < PAGE_SIZE ? undefined : page.at(-1);
    }
  }

  const planAt = async (runAt: number) =>
    void (await jobs.enqueue(PLAN_JOB, {}, { key: "plan", runAt: new Date(runAt), attempts: 1000 }));

  async function targetsOf(domain: string): Promise<ReportTarget[]> {
    try {
      return readTlsrptRecord((await resolveTxt(`_smtp._tls.${domain}`)).map((strings) => strings.join("")));
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      if (code === "ENOTFOUND" || code === "ENODATA") return [];
      throw err;
    }
  }

  async function send({ id, attempt, payload }: Job, context: JobContext, transport: Transport): Promise<void> {
    const domainDay = payload as DomainDay;
    try {
      if (!(await table.isFinished(domainDay))) await sendTo(domainDay, id, context, transport);
    } catch (err) {
      if (attempt < MAX_ATTEMPTS || context.signal.aborted) throw err;
      log.warn({ ...domainDay, why: messageOf(err) }, "tls-reports: failed to send a report, will not retry");
    }
    await table.finish(domainDay, clock.now());
  }

  async function sendTo(domainDay: DomainDay, job: string, { signal, progress }: JobContext, transport: Transport) {
    const rows = await table.of(domainDay, MAX_ROWS);
    const targets = rows.length === 0 ? [] : await targetsOf(domainDay.domain);
    if (targets.length === 0) return;
    const report = await buildTlsReport(
      domainDay,
      rows.map(({ detail, sessions }) => ({ ...(JSON.parse(detail) as Omit<TlsCount, "sessions">), sessions })),
      reporter,
    );
    const sentTargets = new Set(((await jobs.get(job))?.progress as string[] | undefined) ?? []);
    const failures: unknown[] = [];
    for (const target of targets.filter((reportTarget) => !sentTargets.has(reportTargetUri(reportTarget)))) {
      try {
        await (target.kind === "mail"
          ? mailReport(report, target.address, transport, signal)
          : post(report, target.url, signal));
        log.info({ ...domainDay, to: reportTargetUri(target), report: report.id }, "tls-reports: report sent");
        await progress([...sentTargets.add(reportTargetUri(target))]);
      } catch (err) {
        failures.push(err);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async function mailReport(report: TlsReportFile, to: string, transport: Transport, signal: AbortSignal) {
    const raw = composeReportMail(report, { from: sender, to, date: new Date(clock.now()), reporter });
    const messageId = `<${report.id}>`;
    const deliveryResults = await transport.deliver(
      { messageId, cause: "send", from: sender, to: [to], raw: () => raw },
      signal,
    );
    const refusedResult = deliveryResults.find(({ ok }) => !ok);
    if (refusedResult !== undefined && !refusedResult.ok)
      throw new Error(`${to}: ${refusedResult.reply.code} ${refusedResult.reply.enhanced} ${refusedResult.reply.text}`);
  }

  async function post(report: TlsReportFile, url: string, signal: AbortSignal) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/tlsrpt+gzip" },
      body: report.gzip,
      totalTimeoutMs: SEND_TIMEOUT_MS,
      signal,
    });
    response.close();
    if (response.status < 200 || response.status > 299)
      throw new Error(`${url} responded with status ${response.status}`);
  }

  return {
    results: { reportSender: sender, record: counts.record },
    start(transport) {
      if (workers.length > 0) return;
      const { pollMs } = limits;
      workers = [
        jobs.work(PLAN_JOB, { concurrency: 1, leaseMs: 300_000, pollMs }, async () => {
          await plan();
          await planAt((today() + 1) * DAY_MS + PLAN_DELAY_MS);
        }),
        jobs.work(
          SEND_JOB,
          {
            concurrency: 2,
            leaseMs: 5 * SEND_TIMEOUT_MS,
            pollMs,
            onePerKey: true,
            backoff: (attempt) => BACKOFF_MS * 2 ** (attempt - 1),
          },
          (job, context) => send(job, context, transport),
        ),
      ];
      planAt(clock.now()).catch((err: unknown) =>
        log.warn({ err }, "tls-reports: failed to schedule reports, will retry at the next start"),
      );
    },
    flush: counts.flush,
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await counts.close();
    },
  };
}
