export { createZones, type Zones, type ZonesOptions } from "./create.ts";
export { zoneErrors } from "./errors.ts";
export { zonesMigrations } from "./migrations.ts";
export { MAX_BATCH, type Batch, type BatchResult } from "./records/batch.ts";
export { RECORDS_CHANGED } from "./records/change.ts";
export { dataOf, isProxiable } from "./records/content.ts";
export type { RecordQuery, TagFilter, TextFilter } from "./records/list-table.ts";
export type { ManagedRecords, ManagedSet } from "./records/managed.ts";
export type { Records } from "./records/records.ts";
export type { DnsRecord, RecordRequest, RecordSettings, RecordZone } from "./records/types.ts";
export { ZONE_STATUSES, ZONE_TYPES, type Zone, type ZoneStatus, type ZoneType } from "./types.ts";
export { ZONE_DELETED } from "./zone-accounts.ts";
export type { ZoneChange, ZoneList } from "./zones.ts";
export type { TextOperator, ZoneQuery } from "./zones-table.ts";
export { createPusher, type Pusher, type PusherOptions, type PushStatus } from "./dns/push/pusher.ts";
export type { PushProblem } from "./dns/push/push-table.ts";
export type { LookUpAddresses } from "./dns/flatten.ts";
export type { RateLimit } from "./dns/rate-limit.ts";
export type { ServedRecord, ServedZone, ServedZones } from "./dns/served.ts";
export { startDnsServer, type DnsServer, type DnsServerOptions } from "./dns/server.ts";
export type { TcpBounds } from "./dns/tcp.ts";
export { isAbsence, LookupError, type LookupCode } from "./dns/lookup/failure.ts";
export { createLookups, type Found, type Lookups, type LookupsOptions } from "./dns/lookup/lookups.ts";
export type { QuestionType } from "./dns/lookup/message.ts";
export { readEndpoint } from "./dns/lookup/upstream.ts";
export { createEmbeddedProvider } from "./dns/provider/embedded.ts";
export { dnsErrors } from "./dns/provider/errors.ts";
export type { DnsEndpoint } from "./dns/provider/exchange.ts";
export { createManualProvider, type ManualOptions, type ManualProvider } from "./dns/provider/manual.ts";
export type { DnsChange, DnsProvider, ExclusiveSet, ProviderRecord, RecordSetName } from "./dns/provider/port.ts";
export { createPowerDnsProvider, type PowerDnsOptions } from "./dns/provider/powerdns.ts";
export { createRfc2136Provider, type Rfc2136Options } from "./dns/provider/rfc2136.ts";
export { createResolver, LookupFailed, type RecordResolver, type ResolverOptions } from "./dns/verify/resolver.ts";
export { createLookupResolver } from "./dns/verify/record-resolver.ts";
export { createRecordWatch, type RecordWatch, type Wanted } from "./dns/verify/watch.ts";
export {
  createVerifier,
  type Conflict,
  type RecordFinding,
  type RecordState,
  type Verification,
  type Verifier,
} from "./dns/verify/verifier.ts";
