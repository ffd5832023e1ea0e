import type { Project } from "../../workers/project/index.ts";
import type { WorkerConnection } from "../worker-of.ts";

type Connection = Pick<WorkerConnection, "api" | "script">;

/**
 * Validates the routes and custom domains before the upload, so that a rejected deploy changes nothing. Rejects with
 * the API's error, for example if a route belongs to another worker.
 */
export const validateRoutes = (connection: Connection, project: Project): Promise<void> =>
  sendRoutes(connection, project, { validate: true });

/** Replaces the routes and custom domains with those in the configuration. Without `routes`, they are unchanged. */
export const setRoutes = (connection: Connection, project: Project): Promise<void> =>
  sendRoutes(connection, project, {});

async function sendRoutes(
  { api, script }: Connection,
  { deploy }: Project,
  query: { validate?: boolean },
): Promise<void> {
  if (deploy.routes === undefined) return;
  const { routes, customDomains } = deploy.routes;
  await api.result("PUT", `${script}/routes`, {
    query,
    json: routes.map(({ pattern, zoneId, zoneName }) => ({ pattern, zone_id: zoneId, zone_name: zoneName })),
  });
  const origins = customDomains.map(({ pattern: hostname, zoneId, zoneName, enabled, previewsEnabled }) => ({
    hostname,
    zone_id: zoneId,
    zone_name: zoneName,
    enabled,
    previews_enabled: previewsEnabled,
  }));
  await api.result("PUT", `${script}/domains/records`, { query, json: { origins } });
}

/** Returns the host names of the custom domains and patterns of the routes, for display. */
export const routePatterns = ({ deploy }: Project): string[] =>
  deploy.routes === undefined
    ? []
    : [...deploy.routes.customDomains, ...deploy.routes.routes].map(({ pattern }) => pattern);
