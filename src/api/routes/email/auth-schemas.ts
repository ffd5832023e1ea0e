import { z } from "@hono/zod-openapi";
import {
  type DmarcCounts,
  type DmarcReports,
  type DmarcStatistics,
  type MailAuthRecords,
  type SpfInspection,
  type SpfTree,
  type TlsCounts,
  type TlsStatistics,
} from "../../../mail/index.ts";
import { txtText } from "../../../protocol/dns/index.ts";
import type { DnsRecord } from "../../../zones/index.ts";

const time = z.iso.datetime();
const recordSchema = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  content: z.string(),
  ttl: z.number().int(),
});
const records = z.array(recordSchema);

export const dmarcReportsSchema = z.object({
  zone_id: z.string(),
  tag: z.string(),
  enabled: z.boolean(),
  skip_wizard: z.boolean(),
  rua_prefix: z.string(),
  status: z
    .enum(["missing-dmarc-report", "multiple-dmarc-reports", "missing-dmarc-rua", "cname-on-dmarc-record"])
    .optional(),
  records: z.object({
    bimi_records: records,
    cname_dkim_records: records,
    cname_dmarc_records: records,
    cname_spf_records: records,
    dkim_records: records,
    dmarc_records: records,
    spf_records: records,
    resolved_dmarc_records: z.array(z.object({ name: z.string(), content: z.string() })),
  }),
  created_at: time,
  modified_at: time,
  created: time,
  modified: time,
});

const showRecord = ({ id, type, name, content, ttl }: DnsRecord): z.input<typeof recordSchema> => ({
  id,
  type,
  name,
  content: type === "TXT" ? txtText(content) : content,
  ttl,
});

const showRecords = ({ dmarc, dmarcAlias, dmarcResolved, spf, spfAlias, dkim, dkimAlias, bimi }: MailAuthRecords) => ({
  bimi_records: bimi.map(showRecord),
  cname_dkim_records: dkimAlias.map(showRecord),
  cname_dmarc_records: dmarcAlias.map(showRecord),
  cname_spf_records: spfAlias.map(showRecord),
  dkim_records: dkim.map(showRecord),
  dmarc_records: dmarc.map(showRecord),
  spf_records: spf.map(showRecord),
  resolved_dmarc_records: dmarcResolved,
});

export function showDmarcReports({
  zone,
  enabled,
  skipWizard,
  ruaPrefix,
  status,
  records: found,
  createdAt,
  modifiedAt,
}: DmarcReports): z.input<typeof dmarcReportsSchema> {
  const [created, modified] = [new Date(createdAt).toISOString(), new Date(modifiedAt).toISOString()];
  return {
    zone_id: zone,
    tag: zone,
    enabled,
    skip_wizard: skipWizard,
    rua_prefix: ruaPrefix,
    ...(status !== undefined && { status }),
    records: showRecords(found),
    created_at: created,
    modified_at: modified,
    created,
    modified,
  };
}

const counts = {
  messages: z.number().int(),
  passed: z.number().int(),
  dkim_aligned: z.number().int(),
  spf_aligned: z.number().int(),
  quarantined: z.number().int(),
  rejected: z.number().int(),
};

export const dmarcStatisticsSchema = z.object({
  since: z.iso.date(),
  until: z.iso.date(),
  reports: z.number().int(),
  totals: z.object(counts),
  days: z.array(z.object({ day: z.iso.date(), ...counts })),
  domains: z.array(z.object({ domain: z.string(), ...counts })),
  sources: z.array(z.object({ source_ip: z.string(), ...counts })),
  reporters: z.array(z.object({ org_name: z.string(), sender: z.string(), ...counts })),
});

const showCounts = ({
  messages,
  passed,
  dkimAligned: dkim_aligned,
  spfAligned: spf_aligned,
  quarantined,
  rejected,
}: DmarcCounts) => ({ messages, passed, dkim_aligned, spf_aligned, quarantined, rejected });

export const showDmarcStatistics = ({
  since,
  until,
  reports,
  totals,
  days,
  domains,
  sources,
  reporters,
}: DmarcStatistics): z.input<typeof dmarcStatisticsSchema> => ({
  since,
  until,
  reports,
  totals: showCounts(totals),
  days: days.map(({ day, ...rest }) => ({ day, ...showCounts(rest) })),
  domains: domains.map(({ domain, ...rest }) => ({ domain, ...showCounts(rest) })),
  sources: sources.map(({ sourceIp: source_ip, ...rest }) => ({ source_ip, ...showCounts(rest) })),
  reporters: reporters.map(({ orgName: org_name, sender, ...rest }) => ({ org_name, sender, ...showCounts(rest) })),
});

const sessions = { successful: z.number().int(), failed: z.number().int() };

export const tlsStatisticsSchema = z.object({
  since: z.iso.date(),
  until: z.iso.date(),
  reports: z.number().int(),
  totals: z.object(sessions),
  days: z.array(z.object({ day: z.iso.date(), ...sessions })),
  policies: z.array(z.object({ domain: z.string(), policy_type: z.string(), ...sessions })),
  failures: z.array(z.object({ result_type: z.string(), receiving_mx: z.string(), sessions: z.number().int() })),
  reporters: z.array(z.object({ org_name: z.string(), sender: z.string(), ...sessions })),
});

const showSessions = ({ successful, failed }: TlsCounts) => ({ successful, failed });

export const showTlsStatistics = ({
  since,
  until,
  reports,
  totals,
  days,
  policies,
  failures,
  reporters,
}: TlsStatistics): z.input<typeof tlsStatisticsSchema> => ({
  since,
  until,
  reports,
  totals: showSessions(totals),
  days: days.map(({ day, ...rest }) => ({ day, ...showSessions(rest) })),
  policies: policies.map(({ domain, policyType: policy_type, ...rest }) => ({
    domain,
    policy_type,
    ...showSessions(rest),
  })),
  failures: failures.map(({ resultType: result_type, receivingMx: receiving_mx, sessions: failed }) => ({
    result_type,
    receiving_mx,
    sessions: failed,
  })),
  reporters: reporters.map(({ orgName: org_name, sender, ...rest }) => ({ org_name, sender, ...showSessions(rest) })),
});

interface ShownTree {
  domain: string;
  record: string;
  total_lookups: number;
  components: { type: string; value: string; result: string; lookup_count: number; nested?: ShownTree | undefined }[];
}

const treeSchema: z.ZodType<ShownTree> = z
  .object({
    domain: z.string(),
    record: z.string(),
    total_lookups: z.number().int(),
    components: z.array(
      z.object({
        type: z.enum(["ALL", "A", "MX", "IP4", "IP6", "EXISTS", "INCLUDE", "PTR", "REDIRECT"]),
        value: z.string(),
        result: z.enum(["pass", "neutral", "fail", "soft_fail"]),
        lookup_count: z.number().int(),
        nested: z.lazy(() => treeSchema).optional(),
      }),
    ),
    // Has a name, so that the OpenAPI document can refer to it recursively.
  })
  .openapi("SpfTree");

const problemSchema = z.object({
  code: z.string(),
  message: z.string(),
  domain: z.string(),
  details: z.string().optional(),
});
export const inspectionSchema = z.intersection(treeSchema, z.object({ errors: z.array(problemSchema).optional() }));

const showTree = ({ domain, record, lookups, terms }: SpfTree): ShownTree => ({
  domain,
  record,
  total_lookups: lookups,
  components: terms.map(({ type, value, result, lookups: ownLookups, nested }) => ({
    type,
    value,
    result,
    lookup_count: ownLookups,
    ...(nested && { nested: showTree(nested) }),
  })),
});

export const showInspection = (found: SpfInspection) => ({
  ...showTree(found),
  ...(found.problems.length > 0 && { errors: found.problems }),
});
