import { z } from "@hono/zod-openapi";
import { type Clock, utcDay } from "../../../kernel/index.ts";
import { inspectSpf, type DmarcReporting, type StatisticsRequest } from "../../../mail/index.ts";
import { txtText } from "../../../protocol/dns/index.ts";
import { isSpf } from "../../../protocol/spf/index.ts";
import type { Zones } from "../../../zones/index.ts";
import { apiErrors } from "../../errors.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  dmarcReportsSchema,
  dmarcStatisticsSchema,
  inspectionSchema,
  showDmarcReports,
  showDmarcStatistics,
  showInspection,
  showTlsStatistics,
  tlsStatisticsSchema,
} from "./auth-schemas.ts";

interface EmailAuthDeps {
  zones: Pick<Zones, "get" | "records">;
  reports: Pick<DmarcReporting, "of" | "update" | "statistics" | "tlsStatistics">;
  clock: Pick<Clock, "now">;
  resolveTxt(name: string): Promise<string[][]>;
}

const tag = "Email Auth";
const REPORTS = "/zones/{zone_id}/email/auth/dmarc-reports";
const change = z.object({ enabled: z.boolean().nullish(), skip_wizard: z.boolean().nullish() });
const domain = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9_-]{1,63}\.)+[a-z0-9-]{1,63}\.?$/i)
  .transform((name) => name.toLowerCase().replace(/\.$/, ""));
const period = z.object({
  since: z.iso.date().optional(),
  until: z.iso.date().optional(),
  domain: domain.optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .transform((size) => Math.min(size, 1000))
    .pipe(z.number())
    .default(100),
});
const DAY_MS = 86_400_000;
/** Default period of statistics, in days. */
const DEFAULT_DAYS = 30;

/** Senders that a zone's records authorize. */
export const emailAuthRoutes = ({ zones, reports, clock, resolveTxt }: EmailAuthDeps): Route[] => [
  route(
    {
      id: "get_dmarc_reports_status",
      method: "get",
      path: REPORTS,
      tag,
      summary: "Get the status of DMARC reports",
      permission: "Zone Settings Read",
      result: dmarcReportsSchema,
    },
    async ({ params }) => respond(showDmarcReports(await reports.of(await zones.get(params.zone_id!)))),
  ),
  route(
    {
      id: "configure_dmarc_reports",
      method: "patch",
      path: REPORTS,
      tag,
      summary: "Enable or disable DMARC reports",
      permission: "Zone Settings Write",
      body: change,
      result: dmarcReportsSchema,
    },
    async ({ params, body }) => {
      const [enabled, skipWizard] = [body.enabled ?? undefined, body.skip_wizard ?? undefined];
      if (enabled === undefined && skipWizard === undefined)
        throw apiErrors.badRequest({ reason: "enabled or skip_wizard is required" });
      return respond(showDmarcReports(await reports.update(await zones.get(params.zone_id!), { enabled, skipWizard })));
    },
  ),
  route(
    {
      id: "get_dmarc_report_statistics",
      method: "get",
      path: `${REPORTS}/statistics`,
      tag,
      summary:
        "Get statistics from received DMARC reports: which sources send mail for the domain, and whether it passes",
      permission: "Zone Settings Read",
      query: period,
      result: dmarcStatisticsSchema,
    },
    async ({ params, query }) =>
      respond(
        showDmarcStatistics(
          await reports.statistics((await zones.get(params.zone_id!)).id, requestOf(query, clock.now())),
        ),
      ),
  ),
  route(
    {
      id: "get_tls_report_statistics",
      method: "get",
      path: "/zones/{zone_id}/email/auth/tls-reports/statistics",
      tag,
      summary:
        "Get statistics from received TLS reports: whether mail to the domain is encrypted in transit, and failures",
      permission: "Zone Settings Read",
      query: period,
      result: tlsStatisticsSchema,
    },
    async ({ params, query }) =>
      respond(
        showTlsStatistics(
          await reports.tlsStatistics((await zones.get(params.zone_id!)).id, requestOf(query, clock.now())),
        ),
      ),
  ),
  route(
    {
      id: "inspect_spf",
      method: "get",
      path: "/zones/{zone_id}/email/auth/spf/inspect",
      tag,
      summary: "Inspect an SPF record with all its includes",
      permission: "DNS Read",
      query: z.object({ id: z.string().min(1).max(32) }),
      result: inspectionSchema,
    },
    async ({ params, query: { id } }) => {
      const zone = await zones.get(params.zone_id!);
      const record = await zones.records.get(zone.id, id);
      const text = txtText(record.content);
      if (record.type !== "TXT" || !isSpf(text))
        throw apiErrors.badRequest({ reason: `${record.name} ${record.type} is not an SPF record` });
      return respond(showInspection(await inspectSpf(record.name, text, resolveTxt)));
    },
  ),
];

/** Throws badRequest for a period that ends before it begins. */
function requestOf({ since, until, domain: name, limit }: z.output<typeof period>, now: number): StatisticsRequest {
  const last = until ?? utcDay(now);
  const first = since ?? utcDay(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY_MS);
  if (first > last) throw apiErrors.badRequest({ reason: `since (${first}) is later than until (${last})` });
  return { since: first, until: last, domain: name, limit };
}
