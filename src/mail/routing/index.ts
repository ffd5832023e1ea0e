export { createEmailRouting, type EmailRouting } from "./create.ts";
export { foreignMx, isOutdated, spfOf } from "./examine.ts";
export { createLocalDomains } from "./local-domains.ts";
export { enabledNames, rowsByName, namesOf, listZoneIds } from "./names-table.ts";
export { dkimRecords, mxRecords, neededRecords, spfRecord, type NeededRecord } from "./needed.ts";
export { recordOwner } from "./owner.ts";
export type { RecordVerifier } from "./deps.ts";
export type { PlannedChange } from "./plan.ts";
export { createRecipientRoute, parseWorkerName, type OwnedRoute } from "./recipient-route.ts";
export { setUpRouting } from "./setup.ts";
export { ROUTING_CHANGED } from "./tables-cache.ts";
export {
  routingCountsMigration,
  routingDestinationsMigration,
  routingMigration,
  type RoutingTables,
} from "./tables.ts";
export type { Resolution, RuleAction, Matcher, RoutingSettings, Rule, RuleRequest } from "./types.ts";
