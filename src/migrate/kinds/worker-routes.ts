import { plannedItem, type Context } from "../context.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, collect, hasErrorStatus, readNumberedPages } from "../requests.ts";
import type { SourceZone } from "./zone.ts";

interface WorkerRoute {
  id: string;
  pattern: string;
  script?: string | null;
}

interface WorkerDomain {
  hostname: string;
  service: string;
  zone_id: string;
}

/** Plans the import of the routes of a zone: URL patterns that a worker handles. */
export async function planRoutes(context: Context, zone: SourceZone): Promise<PlannedItem[]> {
  const { source, target, ids } = context;
  const targetZone = ids.find("zone", zone.id);
  const routesOf = (api: Context["source"]["api"], id: string) =>
    api.result<WorkerRoute[]>("GET", apiPath`/zones/${id}/workers/routes`).catch((thrown: unknown) => {
      if (hasErrorStatus(thrown, 404)) return [];
      throw thrown;
    });
  const [ours, theirs] = await Promise.all([
    routesOf(source.api, zone.id),
    targetZone === undefined ? [] : routesOf(target.api, targetZone),
  ]);
  return ours.map((route) => {
    const existing = theirs.find(({ pattern }) => pattern === route.pattern);
    const form = ({ pattern, script }: WorkerRoute) => ({ pattern, ...(script && { script }) });
    return plannedItem(context, {
      kind: "worker route",
      key: `route ${zone.id} ${route.pattern}`,
      name: `${route.pattern} ${route.script ?? "(no worker)"}`,
      source: form(route),
      target: existing && form(existing),
      async apply() {
        const path = apiPath`/zones/${ids.require("zone", zone.id, `The zone ${zone.name}`)}/workers/routes`;
        if (existing === undefined) await target.api.result("POST", path, { json: form(route) });
        else await target.api.result("PUT", path + apiPath`/${existing.id}`, { json: form(route) });
      },
    });
  });
}

/** Plans the import of custom domains: host names for which a worker handles every request. */
export async function planDomains(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids } = context;
  const domainsOf = (api: Context["source"]["api"], base: string) =>
    collect(readNumberedPages<WorkerDomain>(api, `${base}/workers/domains`, { perPage: 1000 })).catch(
      (thrown: unknown) => {
        if (hasErrorStatus(thrown, 404)) return [];
        throw thrown;
      },
    );
  const [ours, theirs] = await Promise.all([domainsOf(source.api, paths.source), domainsOf(target.api, paths.target)]);
  return ours.map((domain) => {
    const existing = theirs.find(({ hostname }) => hostname === domain.hostname);
    return plannedItem(context, {
      kind: "custom domain",
      key: `domain ${domain.hostname}`,
      name: domain.hostname,
      source: { service: domain.service },
      target: existing && { service: existing.service },
      async apply() {
        await target.api.result("PUT", `${paths.target}/workers/domains`, {
          json: {
            hostname: domain.hostname,
            service: domain.service,
            environment: "production",
            zone_id: ids.require("zone", domain.zone_id, `The zone of ${domain.hostname}`),
          },
        });
      },
    });
  });
}
