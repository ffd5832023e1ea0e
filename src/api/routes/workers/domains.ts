import { z } from "@hono/zod-openapi";
import { pageOf } from "../../../kernel/index.ts";
import type { WantedDomain, WorkerDomain } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  isOn,
  accountAndScript,
  domainAccessOf,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKERS,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { routingNotices } from "./notices.ts";

const DOMAINS_PATH = `${WORKERS}/domains`;
const RECORDS_PATH = `${DOMAINS_PATH}/records`;

const domainSchema = z.object({
  id: z.string(),
  zone_id: z.string(),
  zone_name: z.string(),
  hostname: z.string(),
  service: z.string(),
  environment: z.literal("production"),
  cert_id: z.string(),
  enabled: z.boolean(),
  previews_enabled: z.boolean(),
});

const showDomain = (domain: WorkerDomain) => ({
  id: domain.id,
  zone_id: domain.zone,
  zone_name: domain.zoneName,
  hostname: domain.hostname,
  service: domain.script,
  environment: "production" as const,
  // Certificates have no ids of their own, so `cert_id` is the id of the domain.
  cert_id: domain.id,
  enabled: domain.enabled,
  previews_enabled: domain.previewsEnabled,
});

const origin = z.object({
  hostname: z.string(),
  zone_id: z.string().nullish(),
  zone_name: z.string().nullish(),
  enabled: z.boolean().nullish(),
  previews_enabled: z.boolean().nullish(),
});
const origins = z.array(origin).max(100);

const toDomainRequest = ({
  hostname,
  zone_id,
  zone_name,
  enabled,
  previews_enabled,
}: z.infer<typeof origin>): WantedDomain => ({
  hostname,
  zoneId: zone_id ?? undefined,
  zoneName: zone_name ?? undefined,
  enabled: enabled ?? undefined,
  previewsEnabled: previews_enabled ?? undefined,
});

const environment = z.literal("production").optional();
const listQuery = z.object({
  ...pageQuery({ perPage: 1000 }),
  // Some clients count pages from 0, others from 1.
  page: z.coerce
    .number()
    .int()
    .min(0)
    .transform((page) => Math.max(page, 1))
    .pipe(z.number())
    .default(1),
  hostname: z.string().optional(),
  service: z.string().optional(),
  zone_id: z.string().optional(),
  zone_name: z.string().optional(),
  environment,
});

/** Operations on custom domains: host names in zones for which one worker handles all requests. */
export const domainRoutes = ({ routing: { domains, isActive } }: WorkerRoutesDeps): Route[] => [
  ...[DOMAINS_PATH, RECORDS_PATH].flatMap((path) => [
    route(
      {
        ...WORKER_READ_OPTIONS,
        id: path === DOMAINS_PATH ? "worker-domain-list-domains" : "worker-domain-list-records",
        method: "get",
        path,
        summary: path === DOMAINS_PATH ? "List Domains" : "List records of domains",
        query: listQuery,
        result: z.array(domainSchema),
      },
      async ({ params, query }) => {
        const { hostname, service: script, zone_id: zone, zone_name: zoneName } = query;
        const page = pageRequest(query);
        const domainList = await domains.list(params.account_id!, { hostname, script, zone, zoneName });
        return respondWithPage(pageOf(domainList, page), page, showDomain);
      },
    ),
    route(
      {
        ...WORKER_READ_OPTIONS,
        id: path === DOMAINS_PATH ? "worker-domain-get-a-domain" : "worker-domain-get-record",
        method: "get",
        path: `${path}/{domain_id}`,
        summary: path === DOMAINS_PATH ? "Get a Domain" : "Get a record of a domain",
        result: domainSchema,
      },
      async ({ params }) => respond(showDomain(await domains.get(params.account_id!, params.domain_id!))),
    ),
  ]),
  route(
    {
      ...WORKER_WRITE_OPTIONS,
      id: "worker-domain-attach-to-domain",
      method: "put",
      path: DOMAINS_PATH,
      summary: "Attach to Domain",
      body: origin.extend({ service: z.string(), environment: environment.nullable() }),
      result: domainSchema,
    },
    async (call) => {
      const { service, ...originFields } = call.body;
      const domain = toDomainRequest(originFields);
      const attached = await domains.attach(call.params.account_id!, service, domain, domainAccessOf(call));
      return respond(showDomain(attached), { messages: routingNotices({ isActive }) });
    },
  ),
  route(
    {
      ...WORKER_WRITE_OPTIONS,
      id: "worker-domain-detach-from-domain",
      method: "delete",
      path: `${DOMAINS_PATH}/{domain_id}`,
      summary: "Detach from Domain",
      result: z.null(),
    },
    async (call) => {
      await domains.detach(call.params.account_id!, call.params.domain_id!, domainAccessOf(call));
      return respond(null);
    },
  ),
  // Returns what `records` below would change, so that clients can ask the user to confirm conflicts.
  route(
    {
      ...WORKER_WRITE_OPTIONS,
      id: "worker-domain-changeset",
      method: "post",
      path: `${SCRIPT}/domains/changeset`,
      summary: "Compare domains",
      query: z.object({ replace_state: z.string().optional() }),
      body: origins,
      result: z.object({
        added: z.array(domainSchema),
        removed: z.array(domainSchema),
        updated: z.array(domainSchema.extend({ modified: z.boolean() })),
        conflicting: z.array(domainSchema),
      }),
    },
    async ({ params, body }) => {
      const plan = await domains.plan(...accountAndScript(params), body.map(toDomainRequest));
      return respond({
        added: plan.added.map(showDomain),
        removed: plan.removed.map(showDomain),
        updated: plan.updated.map(({ modified, ...domain }) => ({ ...showDomain(domain), modified })),
        conflicting: plan.conflicting.map(showDomain),
      });
    },
  ),
  route(
    {
      ...WORKER_WRITE_OPTIONS,
      id: "worker-domain-put-records",
      method: "put",
      path: `${SCRIPT}/domains/records`,
      summary: "Replace the domains of a Worker",
      query: z.object({ validate: z.string().optional() }),
      body: z.object({
        origins,
        override_scope: z.boolean().nullish(),
        override_existing_origin: z.boolean().nullish(),
        override_existing_dns_record: z.boolean().nullish(),
      }),
      result: z.array(domainSchema),
    },
    async (call) => {
      const { params, query, body } = call;
      const override = {
        origins: body.override_existing_origin === true,
        records: body.override_existing_dns_record === true,
      };
      const checkAccess = domainAccessOf(call);
      const requestedDomains = body.origins.map(toDomainRequest);
      if (!isOn(query.validate)) {
        const replaced = await domains.replace(...accountAndScript(params), requestedDomains, override, checkAccess);
        return respond(replaced.map(showDomain), { messages: replaced.length > 0 ? routingNotices({ isActive }) : [] });
      }
      await domains.validate(...accountAndScript(params), requestedDomains, override, checkAccess);
      return respond([]);
    },
  ),
];
