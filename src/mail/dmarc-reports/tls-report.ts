import { isIP } from "node:net";
import { z } from "zod";
import type { ParseResult } from "./aggregate.ts";
import { reportText } from "./report-text.ts";

/** The parts of a TLS report (RFC 8460 4.4) that the statistics need. */
interface TlsReport {
  orgName: string;
  reportId: string;
  /** Epoch milliseconds. */
  begin: number;
  end: number;
  policies: TlsPolicyResult[];
}

export interface TlsPolicyResult {
  /** "sts", "tlsa" or "no-policy-found". */
  type: TlsPolicyType;
  /** Lower case. */
  domain: string;
  /** Number of sessions. */
  successful: number;
  failed: number;
  failures: TlsFailure[];
}

type TlsPolicyType = "tlsa" | "sts" | "no-policy-found";

interface TlsFailure {
  /** RFC 8460 4.3, for example "certificate-expired". */
  resultType: string;
  /** Empty if not reported. */
  receivingMx: string;
  sendingIp: string;
  sessions: number;
}

const MAX_POLICIES = 100;
const MAX_FAILURES = 5_000;
/** Maximum number of sessions per entry, low enough that the total over all rows of a zone is an exact number. */
const MAX_COUNT = 1_000_000_000;

const text = z.string().transform(reportText).pipe(z.string().min(1));
const count = z.number().int().min(0).max(MAX_COUNT);
const time = z.string().max(40).transform(Date.parse).pipe(z.number().int().min(0).max(4_102_444_800_000));

const reportSchema = z.object({
  "organization-name": text,
  "report-id": text,
  "date-range": z.object({ "start-datetime": time, "end-datetime": time }),
  policies: z
    .array(
      z.object({
        policy: z.object({
          "policy-type": z.enum(["tlsa", "sts", "no-policy-found"]),
          "policy-domain": z
            .string()
            .max(256)
            .transform((name) => reportText(name).toLowerCase().replace(/\.$/, ""))
            .pipe(z.string().min(1)),
        }),
        summary: z.object({ "total-successful-session-count": count, "total-failure-session-count": count }),
        "failure-details": z
          .array(
            z.object({
              "result-type": z
                .string()
                .regex(/^[a-z0-9-]{1,64}$/i)
                .transform((word) => word.toLowerCase()),
              "receiving-mx-hostname": z
                .string()
                .transform((name) => reportText(name).toLowerCase())
                .optional(),
              "sending-mta-ip": z
                .string()
                .transform((ip) => (isIP(ip.trim()) === 0 ? "" : ip.trim().toLowerCase()))
                .optional(),
              "failed-session-count": count,
            }),
          )
          .max(MAX_FAILURES)
          .nullish(),
      }),
    )
    .min(1)
    .max(MAX_POLICIES),
});

/** Reads the JSON of a report. Never throws. */
export function readTlsReport(content: Uint8Array): ParseResult<TlsReport> {
  let tree: unknown;
  try {
    tree = JSON.parse(
      Buffer.from(content.buffer, content.byteOffset, content.byteLength)
        .toString("utf8")
        .replace(/^\ufeff/, ""),
    );
  } catch (err) {
    return { ok: false, why: `the report is not valid JSON: ${reportText((err as Error).message)}` };
  }
  const parsed = reportSchema.safeParse(tree);
  if (!parsed.success)
    return {
      ok: false,
      why: `the report is not a TLS report: ${reportText(parsed.error.issues[0]?.path.join(".") ?? "")} is missing or not valid`,
    };
  const {
    "organization-name": orgName,
    "report-id": reportId,
    "date-range": { "start-datetime": begin, "end-datetime": end },
    policies,
  } = parsed.data;
  if (end < begin) return { ok: false, why: "the report ends before it begins" };
  const policyResults = policies.map(({ policy, summary, "failure-details": details }): TlsPolicyResult => ({
    type: policy["policy-type"],
    domain: policy["policy-domain"],
    successful: summary["total-successful-session-count"],
    failed: summary["total-failure-session-count"],
    failures: (details ?? []).map((failureDetail) => ({
      resultType: failureDetail["result-type"],
      receivingMx: failureDetail["receiving-mx-hostname"] ?? "",
      sendingIp: failureDetail["sending-mta-ip"] ?? "",
      sessions: failureDetail["failed-session-count"],
    })),
  }));
  if (policyResults.reduce((sum, { failures }) => sum + failures.length, 0) > MAX_FAILURES)
    return { ok: false, why: `the report has more than ${MAX_FAILURES} failures` };
  return { ok: true, report: { orgName, reportId, begin, end, policies: policyResults } };
}
