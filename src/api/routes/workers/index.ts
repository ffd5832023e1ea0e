import type { Route } from "../../operation.ts";
import type { WorkerRoutesDeps } from "./common.ts";
import { assetRoutes } from "./assets.ts";
import { contentRoutes } from "./content.ts";
import { domainRoutes } from "./domains.ts";
import { deploymentRoutes } from "./deployments.ts";
import { durableObjectRoutes } from "./durable-objects.ts";
import { recordRoutes } from "./worker-records.ts";
import { recordVersionRoutes } from "./record-versions.ts";
import { routeRoutes } from "./routes.ts";
import { scheduleRoutes } from "./schedules.ts";
import { scriptRoutes } from "./scripts.ts";
import { workerSecretRoutes } from "./secrets.ts";
import { serviceRoutes } from "./services.ts";
import { settingRoutes } from "./settings.ts";
import { subdomainRoutes } from "./subdomain.ts";
import { versionRoutes } from "./versions.ts";

/** All worker operations: uploads, versions, deployments, secrets, settings, and paths that only wrangler uses. */
export const workerRoutes = (deps: WorkerRoutesDeps): Route[] => [
  ...scriptRoutes(deps),
  ...contentRoutes(deps),
  ...versionRoutes(deps),
  ...assetRoutes(deps),
  ...deploymentRoutes(deps),
  ...workerSecretRoutes(deps),
  ...settingRoutes(deps),
  ...subdomainRoutes(deps),
  ...serviceRoutes(deps),
  ...scheduleRoutes(deps),
  ...recordRoutes(deps),
  ...recordVersionRoutes(deps),
  ...routeRoutes(deps),
  ...domainRoutes(deps),
  ...durableObjectRoutes(deps),
];
