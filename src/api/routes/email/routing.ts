import type { Route } from "../../operation.ts";
import { routingAddressesRoutes } from "./routing-addresses.ts";
import { routingDkimRoutes } from "./routing-dkim.ts";
import { routingDnsRoutes } from "./routing-dns.ts";
import { routingRulesRoutes } from "./routing-rules.ts";
import { routingSettingsRoutes, type EmailRoutingDeps } from "./routing-settings.ts";

/** All routes under `email/routing` of zones and accounts. */
export const emailRoutingRoutes = (deps: EmailRoutingDeps): Route[] => [
  ...routingSettingsRoutes(deps),
  ...routingDnsRoutes(deps),
  ...routingDkimRoutes(deps),
  ...routingRulesRoutes(deps),
  ...routingAddressesRoutes(deps),
];
