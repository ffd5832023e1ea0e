import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { utcDay } from "../../kernel/index.ts";
import { DAY_MS } from "./result-log.ts";
import type { DomainDay } from "./results-table.ts";
import type { ReportingOrganization, TlsCount } from "./types.ts";

/** A report, ready to be sent. */
export interface TlsReportFile extends DomainDay {
  /** The same for each attempt, so that a receiver recognizes a duplicate. */
  id: string;
  /** Compressed JSON. */
  gzip: Buffer;
  /** Epoch seconds. */
  begin: number;
  end: number;
}

const MAX_POLICIES = 100;
const compress = promisify<Buffer, Buffer>(gzip);

/** Builds the report for one domain and one day (RFC 8460 4.4). */
export async function buildTlsReport(
  { day, domain }: DomainDay,
  counts: readonly TlsCount[],
  reporter: ReportingOrganization,
): Promise<TlsReportFile> {
  const [begin, end] = [day * DAY_MS, (day + 1) * DAY_MS - 1000];
  const date = utcDay(begin);
  const id = `${date}.${createHash("sha256").update(domain).digest("hex").slice(0, 16)}@${reporter.domain}`;
  const groups = Map.groupBy(counts, ({ policy }) => JSON.stringify(policy));
  const report = {
    "organization-name": reporter.organization,
    "date-range": { "start-datetime": timeOf(begin), "end-datetime": timeOf(end) },
    "contact-info": reporter.contact,
    "report-id": id,
    policies: [...groups.values()].slice(0, MAX_POLICIES).map((group) => policyOf(domain, group)),
  };
  return {
    day,
    domain,
    id,
    begin: begin / 1000,
    end: end / 1000,
    gzip: await compress(Buffer.from(JSON.stringify(report))),
  };
}

function policyOf(domain: string, counts: readonly TlsCount[]) {
  const [{ policy }] = counts as [TlsCount];
  const sumSessions = (countsSubset: readonly TlsCount[]) =>
    countsSubset.reduce((total, { sessions }) => total + sessions, 0);
  const failedCounts = counts.filter(({ failure }) => failure !== undefined);
  return {
    policy: {
      "policy-type": policy.type,
      ...(policy.lines.length > 0 && { "policy-string": policy.lines }),
      "policy-domain": domain,
      ...(policy.mx.length > 0 && { "mx-host": policy.mx }),
    },
    summary: {
      "total-successful-session-count": sumSessions(counts.filter(({ failure }) => failure === undefined)),
      "total-failure-session-count": sumSessions(failedCounts),
    },
    "failure-details": failedCounts.map(({ failure, sessions }) => ({
      "result-type": failure!.type,
      ...(failure!.sendingIp !== undefined && { "sending-mta-ip": failure!.sendingIp }),
      ...(failure!.mx !== undefined && { "receiving-mx-hostname": failure!.mx }),
      ...(failure!.ip !== undefined && { "receiving-ip": failure!.ip }),
      "failed-session-count": sessions,
      ...(failure!.reason !== undefined && { "failure-reason-code": failure!.reason }),
    })),
  };
}

/** RFC 3339 without fractional seconds. */
const timeOf = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
