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
const PLAN = "mail.tls-reports";
const SEND = "mail.tls-report";
/** Delay after midnight before a day is processed: by then all processes have stored their counts. */
const AFTER_MIDNIGHT_MS = HOUR_MS / 4;
const LIMITS = { spreadMs: 4 * HOUR_MS, pollMs: 30_000 };
/** About five hours in total, doubling from ten minutes. RFC 8460 5.5: at most one day. */
const ATTEMPTS = 6;
const BACKOFF_MS = HOUR_MS / 6;
/** Number of past days that are still reported after a server was down. */
const KEPT_DAYS = 3;
const MAX_ROWS = 1000;
const PAGE = 500;
const SENDING_MS = 60_000;

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
    await table.expire(today() - KEPT_DAYS);
    for (let after: DomainDay | undefined = { day: 0, domain: "" }; after !== undefined;) {
      const page: DomainDay[] = await table.daysBefore(today(), after, PAGE);
      for (const { day, domain } of page)
        await jobs.enqueue(
          SEND,
          { day, domain },
          {
            key: `${day}/${domain}`,
            runAt: new Date(clock.now() + random() * limits.spreadMs),
            attempts: ATTEMPTS,
          },
        );
      after = page.length < PAGE ? undefined : page.at(-1);
    }
  }

  const planAt = async (runAt: number) =>
    void (await jobs.enqueue(PLAN, {}, { key: "plan", runAt: new Date(runAt), attempts: 1000 }));

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
    const one = payload as DomainDay;
    try {
      if (!(await table.isFinished(one))) await sendTo(one, id, context, transport);
    } catch (err) {
      if (attempt < ATTEMPTS || context.signal.aborted) throw err;
      log.warn({ ...one, why: messageOf(err) }, "tls-reports: failed to send a report, will not retry");
    }
    await table.finish(one, clock.now());
  }

  async function sendTo(one: DomainDay, job: string, { signal, progress }: JobContext, transport: Transport) {
    const rows = await table.of(one, MAX_ROWS);
    const targets = rows.length === 0 ? [] : await targetsOf(one.domain);
    if (targets.length === 0) return;
    const report = await buildTlsReport(
      one,
      rows.map(({ detail, sessions }) => ({ ...(JSON.parse(detail) as Omit<TlsCount, "sessions">), sessions })),
      reporter,
    );
    const done = new Set(((await jobs.get(job))?.progress as string[] | undefined) ?? []);
    const failures: unknown[] = [];
    for (const target of targets.filter((each) => !done.has(reportTargetUri(each)))) {
      try {
        await (target.kind === "mail"
          ? mail(report, target.address, transport, signal)
          : post(report, target.url, signal));
        log.info({ ...one, to: reportTargetUri(target), report: report.id }, "tls-reports: report sent");
        await progress([...done.add(reportTargetUri(target))]);
      } catch (err) {
        failures.push(err);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async function mail(report: TlsReportFile, to: string, transport: Transport, signal: AbortSignal) {
    const raw = composeReportMail(report, { from: sender, to, date: new Date(clock.now()), reporter });
    const messageId = `<${report.id}>`;
    const settled = await transport.deliver(
      { messageId, cause: "send", from: sender, to: [to], raw: () => raw },
      signal,
    );
    const refused = settled.find(({ ok }) => !ok);
    if (refused !== undefined && !refused.ok)
      throw new Error(`${to}: ${refused.reply.code} ${refused.reply.enhanced} ${refused.reply.text}`);
  }

  async function post(report: TlsReportFile, url: string, signal: AbortSignal) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/tlsrpt+gzip" },
      body: report.gzip,
      totalTimeoutMs: SENDING_MS,
      signal,
    });
    answer.close();
    if (answer.status < 200 || answer.status > 299) throw new Error(`${url} responded with status ${answer.status}`);
  }

  return {
    results: { reportSender: sender, record: counts.record },
    start(transport) {
      if (workers.length > 0) return;
      const { pollMs } = limits;
      workers = [
        jobs.work(PLAN, { concurrency: 1, leaseMs: 300_000, pollMs }, async () => {
          await plan();
          await planAt((today() + 1) * DAY_MS + AFTER_MIDNIGHT_MS);
        }),
        jobs.work(
          SEND,
          {
            concurrency: 2,
            leaseMs: 5 * SENDING_MS,
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
