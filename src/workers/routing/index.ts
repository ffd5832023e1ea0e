export { createHostOwners, type HostOwners } from "./host-owners.ts";
export type {
  CheckDomainAccess,
  WorkerDomain,
  WorkerRoute,
  RoutingZone,
  RoutingZones,
  WantedDomain,
  WorkerRouting,
} from "./port.ts";
export { createWorkerRouting } from "./routing.ts";
export { routingMigrations } from "./schema.ts";
