import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import { sendingErrors, type SendingDomains, type Suppressions } from "../../../mail/index.ts";
import type { Zones } from "../../../zones/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  domainSchema,
  iso,
  previewSchema,
  sendingRecordSchema,
  showDomain,
  showPreview,
  showSendingRecord,
  showStatus,
  showSendingZone,
  statusSchema,
  sendingZoneSchema,
} from "./sending-schemas.ts";

export interface SendingDomainsDeps {
  zones: Pick<Zones, "get">;
  domains: SendingDomains;
  suppressions: Pick<Suppressions, "complaints">;
  clock: Pick<Clock, "now">;
}

const tag = "Email Sending subdomains";
const SUBDOMAINS_PATH = "/zones/{zone_id}/email/sending/subdomains";
const SUBDOMAIN_PATH = `${SUBDOMAINS_PATH}/{subdomain_id}`;
const [READ, WRITE] = ["Email Sending Read", "Email Sending Write"] as const;
const nameBody = z.object({ name: z.string() });
const change = z.object({
  preview_enabled: z.boolean().optional(),
  drop_suppressed_recipients: z.boolean().optional(),
});
const complaintsSchema = z.object({
  subdomain_id: z.string(),
  window_start: z.iso.datetime(),
  window_end: z.iso.datetime(),
  complaints: z.number().int(),
  generated_at: z.iso.datetime(),
});

/** Domains of a zone that are used for sending mail. */
export function sendingDomainsRoutes({ zones, domains, suppressions, clock }: SendingDomainsDeps): Route[] {
  const zoneOf = (params: Record<string, string>) => zones.get(params.zone_id!);
  const page = z.object(pageQuery({ perPage: 100 }));

  return [
    route(
      {
        id: "email-sending-subdomains-list-sending-subdomains",
        method: "get",
        path: SUBDOMAINS_PATH,
        tag,
        summary: "List the sending domains of a zone",
        permission: READ,
        query: page,
        result: z.array(domainSchema),
      },
      async ({ params, query }) => {
        // The list contains a few dozen domains at most.
        const allDomains = await domains.list(await zoneOf(params));
        const at = pageRequest(query);
        return respondWithPage(
          { items: allDomains.slice((at.page - 1) * at.perPage, at.page * at.perPage), total: allDomains.length },
          at,
          showDomain,
        );
      },
    ),
    route(
      {
        id: "email-sending-subdomains-create-sending-subdomain",
        method: "post",
        path: SUBDOMAINS_PATH,
        tag,
        summary: "Enable Email Sending for a domain: create and lock its DNS records",
        permission: WRITE,
        body: nameBody,
        result: domainSchema,
      },
      async ({ params, body }) => respond(showDomain(await domains.create(await zoneOf(params), body.name))),
    ),
    route(
      {
        id: "email-sending-subdomains-preview-sending-subdomain",
        method: "post",
        path: `${SUBDOMAINS_PATH}/preview`,
        tag,
        summary: "Preview the DNS records of a sending domain and conflicting records; changes nothing",
        audit: false,
        permission: READ,
        body: nameBody,
        result: previewSchema,
      },
      async ({ params, body }) => respond(showPreview(await domains.preview(await zoneOf(params), body.name))),
    ),
    route(
      {
        id: "email-sending-subdomains-get-sending-subdomain",
        method: "get",
        path: SUBDOMAIN_PATH,
        tag,
        summary: "Get a sending domain",
        permission: READ,
        result: domainSchema,
      },
      async ({ params }) => respond(showDomain(await domains.get(await zoneOf(params), params.subdomain_id!))),
    ),
    route(
      {
        id: "email-sending-subdomains-update-sending-subdomain",
        method: "patch",
        path: SUBDOMAIN_PATH,
        tag,
        summary:
          "Update a sending domain: retention of messages, handling of suppressed recipients; omitted fields keep their values",
        permission: WRITE,
        body: change,
        result: domainSchema,
      },
      async ({ params, body }) =>
        respond(
          showDomain(
            await domains.update(await zoneOf(params), params.subdomain_id!, {
              previewEnabled: body.preview_enabled,
              dropSuppressed: body.drop_suppressed_recipients,
            }),
          ),
        ),
    ),
    route(
      {
        id: "email-sending-subdomains-delete-sending-subdomain",
        method: "delete",
        path: SUBDOMAIN_PATH,
        tag,
        summary: "Disable Email Sending for a domain and remove its DNS records",
        permission: WRITE,
      },
      async ({ params }) => {
        await domains.delete(await zoneOf(params), params.subdomain_id!);
        return respond(undefined);
      },
    ),
    route(
      {
        id: "email-sending-subdomains-get-sending-subdomain-dns",
        method: "get",
        path: `${SUBDOMAIN_PATH}/dns`,
        tag,
        summary: "List the DNS records that a sending domain needs",
        permission: READ,
        result: z.array(sendingRecordSchema),
      },
      async ({ params }) => {
        const records = (await domains.needed(await zoneOf(params), params.subdomain_id!)).map(showSendingRecord);
        return respond(records, {
          info: {
            page: 1,
            per_page: records.length,
            count: records.length,
            total_count: records.length,
            total_pages: 1,
          },
        });
      },
    ),
    route(
      {
        id: "email-sending-subdomains-fix-sending-subdomain-dns",
        method: "post",
        path: `${SUBDOMAIN_PATH}/dns`,
        tag,
        summary: "Create and lock the missing DNS records of a sending domain",
        permission: WRITE,
        result: statusSchema,
      },
      async ({ params }) => respond(showStatus(await domains.fix(await zoneOf(params), params.subdomain_id!))),
    ),
    route(
      {
        id: "email-sending-subdomains-get-sending-subdomain-dns-status",
        method: "get",
        path: `${SUBDOMAIN_PATH}/dns/status`,
        tag,
        summary: "Get the DNS status of a sending domain: required records, and problems with the existing ones",
        permission: READ,
        result: statusSchema,
      },
      async ({ params }) => respond(showStatus(await domains.status(await zoneOf(params), params.subdomain_id!))),
    ),
    route(
      {
        id: "email-sending-subdomains-get-sending-subdomain-reputation-complaints",
        method: "get",
        path: `${SUBDOMAIN_PATH}/reputation/complaints`,
        tag,
        summary: "Get the number of complaints about mail from a sending domain, for at most seven days",
        permission: READ,
        query: z.object({ start_at: z.string().optional(), end_at: z.string().optional() }),
        result: complaintsSchema,
      },
      async ({ params, query }) => {
        const { id, account, name } = await domains.get(await zoneOf(params), params.subdomain_id!);
        const { from, to } = windowOf(query);
        return respond({
          subdomain_id: id,
          window_start: iso(from),
          window_end: iso(to),
          complaints: await suppressions.complaints(account, name, from, to),
          generated_at: iso(clock.now()),
        });
      },
    ),
    route(
      {
        id: "email-sending-list-zones",
        method: "get",
        path: "/accounts/{account_id}/email/sending/zones",
        tag,
        summary: "List the zones of an account that have sending domains",
        permission: READ,
        query: z.object(pageQuery()),
        result: z.array(sendingZoneSchema),
      },
      async ({ params, query }) => {
        const at = pageRequest(query);
        return respondWithPage(await domains.zones(params.account_id!, at), at, showSendingZone);
      },
    ),
  ];
}

const MAX_WINDOW_MS = 7 * 86_400_000;
const instant = z.iso.datetime({ offset: true });

/** The time range [start_at, end_at). Throws badWindow. */
function windowOf({ start_at: start, end_at: end }: { start_at?: string | undefined; end_at?: string | undefined }): {
  from: number;
  to: number;
} {
  const [from, to] = [start, end].map((text) => (instant.safeParse(text).success ? Date.parse(text!) : Number.NaN)) as [
    number,
    number,
  ];
  if (Number.isNaN(from) || Number.isNaN(to))
    throw sendingErrors.badWindow({ reason: "start_at and end_at are required, for example 2026-11-20T00:00:00Z" });
  if (to <= from) throw sendingErrors.badWindow({ reason: "it ends before it begins" });
  if (to - from > MAX_WINDOW_MS) throw sendingErrors.badWindow({ reason: "it is longer than seven days" });
  return { from, to };
}
