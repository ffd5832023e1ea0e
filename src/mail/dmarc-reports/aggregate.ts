import { isIP } from "node:net";
import { XMLParser } from "fast-xml-parser";
import { z } from "zod";
import { reportText } from "./report-text.ts";

/** The parts of an aggregate report (RFC 7489 Appendix C) that the statistics need. */
interface AggregateReport {
  orgName: string;
  reportId: string;
  /** Epoch milliseconds. */
  begin: number;
  end: number;
  /** The domain whose policy was applied, lower case. */
  domain: string;
  /** Equal records are merged. */
  records: AggregateRecord[];
}

export interface AggregateRecord {
  sourceIp: string;
  /** The author domain, lower case. */
  headerFrom: string;
  count: number;
  disposition: Disposition;
  /** True if DKIM and SPF pass and are aligned with the author domain. */
  dkim: boolean;
  spf: boolean;
}

export type Disposition = "none" | "quarantine" | "reject";

export type ParseResult<Report> = { ok: true; report: Report } | { ok: false; why: string };

const MAX_RECORDS = 5_000;
const MAX_DEPTH = 12;
/**
 * The parser blocks the event loop: a small file can decompress to a million elements, and distinct names are the most
 * expensive. Allows 60 tags per record.
 */
const MAX_TAGS = 300_000;
const MAX_NAMES = 200;
/** Maximum number of messages per record, low enough that the total over all rows of a zone is an exact number. */
const MAX_COUNT = 1_000_000_000;

const seconds = z
  .string()
  .regex(/^\d{9,11}$/)
  .transform((text) => Number(text) * 1000);
const text = z.string().transform(reportText).pipe(z.string().min(1));
const domain = z
  .string()
  .max(256)
  .transform((name) => reportText(name).toLowerCase().replace(/\.$/, ""))
  .pipe(z.string().min(1));
const result = z
  .string()
  .transform((word) => word.trim().toLowerCase() === "pass")
  .catch(false);

const recordSchema = z.object({
  row: z.object({
    source_ip: z
      .string()
      .transform((ip) => ip.trim().toLowerCase())
      .refine((ip) => isIP(ip) !== 0),
    count: z
      .string()
      .regex(/^\d{1,10}$/)
      .transform(Number)
      .pipe(z.number().max(MAX_COUNT)),
    // Reporters that follow a draft use "pass" if no policy was applied.
    policy_evaluated: z.object({
      disposition: z
        .string()
        .transform((word) => word.trim().toLowerCase())
        .pipe(z.enum(["none", "quarantine", "reject"]))
        .catch("none"),
      dkim: result,
      spf: result,
    }),
  }),
  identifiers: z.object({ header_from: domain }),
});

const reportSchema = z.object({
  feedback: z.object({
    report_metadata: z.object({
      org_name: text,
      report_id: text,
      date_range: z.object({ begin: seconds, end: seconds }),
    }),
    policy_published: z.object({ domain }),
    record: z.array(recordSchema).max(MAX_RECORDS).default([]),
  }),
});

const parser = new XMLParser({
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  processEntities: false,
  maxNestedTags: MAX_DEPTH,
  isArray: (_name, path) => path === "feedback.record",
});

/** Reads the XML of an aggregate report. Never throws. */
export function readAggregate(content: Uint8Array): ParseResult<AggregateReport> {
  const xml = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8");
  // A report does not need a document type, and entities can expand a small document into a large one.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) return { ok: false, why: "the report has a document type declaration" };
  if ((xml.match(/<(?:[\w.-]+:)?record[\s>]/g)?.length ?? 0) > MAX_RECORDS)
    return { ok: false, why: `the report has more than ${MAX_RECORDS} records` };
  if (!hasFewElements(xml))
    return { ok: false, why: `the report has more than ${MAX_TAGS} tags or ${MAX_NAMES} element names` };
  let tree: unknown;
  try {
    tree = parser.parse(xml);
  } catch (err) {
    return { ok: false, why: `the report is not well-formed XML: ${reportText((err as Error).message)}` };
  }
  const parsed = reportSchema.safeParse(tree);
  if (!parsed.success)
    return {
      ok: false,
      why: `the report is not an aggregate report: ${reportText(parsed.error.issues[0]?.path.join(".") ?? "")} is missing or not valid`,
    };
  const {
    report_metadata: {
      org_name: orgName,
      report_id: reportId,
      date_range: { begin, end },
    },
    policy_published: publishedPolicy,
    record,
  } = parsed.data.feedback;
  if (end < begin) return { ok: false, why: "the report ends before it begins" };
  return {
    ok: true,
    report: { orgName, reportId, begin, end, domain: publishedPolicy.domain, records: mergeRecords(record) },
  };
}

function hasFewElements(xml: string): boolean {
  const names = new Set<string>();
  let tags = 0;
  for (const [, name] of xml.matchAll(/<([^\s<>/]{0,100})/g)) {
    names.add(name!);
    if (++tags > MAX_TAGS || names.size > MAX_NAMES) return false;
  }
  return true;
}

function mergeRecords(records: z.output<typeof recordSchema>[]): AggregateRecord[] {
  const recordsByKey = new Map<string, AggregateRecord>();
  for (const {
    row: {
      source_ip: sourceIp,
      count,
      policy_evaluated: { disposition, dkim, spf },
    },
    identifiers: { header_from: headerFrom },
  } of records) {
    const key = [sourceIp, headerFrom, disposition, dkim, spf].join(" ");
    const existing = recordsByKey.get(key);
    if (existing === undefined) recordsByKey.set(key, { sourceIp, headerFrom, count, disposition, dkim, spf });
    else existing.count = Math.min(existing.count + count, MAX_COUNT);
  }
  return [...recordsByKey.values()];
}
