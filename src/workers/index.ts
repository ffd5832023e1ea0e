export * from "./errors.ts";
export * from "./ports.ts";
export type * from "./scripts/port.ts";
export type { ScriptReferences } from "./scripts/references.ts";
export * from "./scripts/script.ts";
export * from "./assets/index.ts";
export { createBindings, type Bindings } from "./bindings/bindings.ts";
export * from "./bindings/service.ts";
export {
  AI_GATEWAY_PREFIX,
  aiGatewayErrors,
  aiGatewayLimits,
  createAiGatewayHttp,
  createAiGateways,
  aiGatewayMigrations,
  defaultAiGatewaySettings,
  type AiGateway,
  type AiGatewayLog,
  type AiGateways,
  type AiGatewaySettings,
} from "./ai/index.ts";
export {
  createInvocationMetrics,
  quantile,
  type InvocationColumn,
  type InvocationMetrics,
  type InvocationSums,
} from "./invocation-metrics/index.ts";
export { workerUsers } from "./runtime/identities.ts";
export { createRuntime, type RuntimeOptions } from "./runtime/pool.ts";
export { createEgressCheck, devEgress, serveEgress } from "./runtime/egress/policy.ts";
export { type RuntimeLimits } from "./runtime/watchdog.ts";
export type * from "./runtime/port.ts";
export {
  createD1BookmarkGenerator,
  createD1DatabaseList,
  createD1Databases,
  createD1Transfers,
  createRemoteDatabases,
  d1Errors,
  d1Limits,
  d1Migrations,
  serveDatabases,
  type D1Database,
  type D1DatabaseList,
  type D1Databases,
  type D1Limits,
  type D1Transfer,
  type D1Transfers,
} from "./bindings/d1/index.ts";
export { createLocalWorkerCalls } from "./bindings/services/runtime-calls.ts";
export { ANALYTICS_QUERY_BYTES, type Analytics } from "./bindings/analytics/index.ts";
export {
  createKvService,
  expiryOf,
  keyBytes,
  kvErrors,
  kvLimits,
  kvMigrations,
  type KvBulk,
  type KvEntry,
  type KvNamespace,
  type KvNamespaces,
  type KvStore,
} from "./bindings/kv/index.ts";
export {
  createR2Service,
  conditionsOf as r2Conditions,
  metadataFromHeaders as r2MetadataFromHeaders,
  readHttpObject as readR2Object,
  jurisdictions as r2Jurisdictions,
  listPermittedBuckets,
  locations as r2Locations,
  r2Errors,
  r2Migrations,
  type ListedObject as R2ListedObject,
  type R2Bucket,
  type R2BucketList,
  type R2Buckets,
} from "./bindings/r2/index.ts";
export * from "./bucket-settings/index.ts";
export * from "./local/index.ts";
export { managedHost } from "./public-buckets/index.ts";
export * from "./objects/index.ts";
export * from "./queues/index.ts";
export * from "./routing/index.ts";
export * from "./secrets-store/index.ts";
export { createLocalBucketList, createS3HttpHandler, localS3Key } from "./s3/index.ts";
export * from "./project/index.ts";
export { OLDEST_COMPATIBILITY_DATE } from "./scripts/checks.ts";
export { createScripts } from "./scripts/scripts.ts";
export { parseCron } from "./schedules/cron.ts";
export { scriptsMigrations } from "./scripts/schema.ts";
export { createLiveWorkers } from "./live/live.ts";
export { workersMigrations } from "./migrations.ts";
export { meterWorkers } from "./worker-metrics.ts";
export { createWorkerRuntime } from "./worker-runtime.ts";
export { createWorkers, type Workers } from "./workers.ts";
export * from "./tails/index.ts";
export * from "./wrangler-state/index.ts";
