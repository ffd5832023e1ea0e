import { z } from "@hono/zod-openapi";
import { inspectSpf, isSpf, txtTextOf, type DmarcReporting } from "../../../mail/index.ts";
import type { Zones } from "../../../zones/index.ts";
import { apiErrors } from "../../errors.ts";
import { answer, route, type Route } from "../../operation.ts";
import { dmarcReportsSchema, inspectionSchema, showDmarcReports, showInspection } from "./auth-schemas.ts";

export interface EmailAuthDeps {
  zones: Pick<Zones, "get" | "records">;
  reports: DmarcReporting;
  resolveTxt(name: string): Promise<string[][]>;
}

const tag = "Email Auth";
const REPORTS = "/zones/{zone_id}/email/auth/dmarc-reports";
const change = z.object({ enabled: z.boolean().nullish(), skip_wizard: z.boolean().nullish() });

/** Who may send in the name of a zone, as its records say. */
export const emailAuthRoutes = ({ zones, reports, resolveTxt }: EmailAuthDeps): Route[] => [
  route({ id: "get_dmarc_reports_status", method: "get", path: REPORTS, tag, summary: "How DMARC reports are asked for", permission: "Zone Settings Read", result: dmarcReportsSchema }, async ({ params }) =>
    answer(showDmarcReports(await reports.of(await zones.get(params.zone_id!))))),
  route({ id: "configure_dmarc_reports", method: "patch", path: REPORTS, tag, summary: "Ask for DMARC reports, or no longer", permission: "Zone Settings Write", body: change, result: dmarcReportsSchema }, async ({ params, body }) => {
    const [enabled, skipWizard] = [body.enabled ?? undefined, body.skip_wizard ?? undefined];
    if (enabled === undefined && skipWizard === undefined) throw apiErrors.badRequest({ reason: "enabled or skip_wizard is needed" });
    return answer(showDmarcReports(await reports.update(await zones.get(params.zone_id!), { enabled, skipWizard })));
  }),
  route({
    id: "inspect_spf", method: "get", path: "/zones/{zone_id}/email/auth/spf/inspect", tag, summary: "What an SPF record says, with all it includes",
    permission: "DNS Read", query: z.object({ id: z.string().min(1).max(32) }), result: inspectionSchema,
  }, async ({ params, query: { id } }) => {
    const zone = await zones.get(params.zone_id!);
    const record = await zones.records.get(zone.id, id);
    const text = txtTextOf(record.content);
    if (record.type !== "TXT" || !isSpf(text)) throw apiErrors.badRequest({ reason: `${record.name} ${record.type} is no SPF record` });
    return answer(showInspection(await inspectSpf(record.name, text, resolveTxt)));
  }),
];
