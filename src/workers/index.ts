export { workerErrors } from "./errors.ts";
export type {
  Scripts,
  ScriptRef,
  LiveWorkers,
  Script,
  ScriptSettings,
  Upload,
  InheritedBinding,
  UploadedModule,
  Author,
  Uploader,
  Version,
  Deployment,
  Schedule,
  BindingTargets,
} from "./scripts/port.ts";
export type { ScriptReferences } from "./scripts/references.ts";
export type { WorkerScript, WorkerModule, Binding, SendEmailBinding } from "./scripts/script.ts";
export {
  readBasePath,
  HTML_HANDLING,
  NOT_FOUND_HANDLING,
  workerFirstProblem,
  type AssetsConfig,
  assetErrors,
  ASSET_LIMITS,
  type AssetUploads,
} from "./assets/index.ts";
export { createBindings, type Bindings } from "./bindings/bindings.ts";
export {
  AI_GATEWAY_PREFIX,
  aiGatewayErrors,
  aiGatewayLimits,
  createAiGatewayHttp,
  defaultAiGatewaySettings,
  type AiGateway,
  type AiGatewayLog,
  type AiGateways,
  type AiGatewaySettings,
} from "./ai/index.ts";
export {
  quantile,
  type InvocationColumn,
  type InvocationMetrics,
  type InvocationSums,
} from "./invocation-metrics/index.ts";
export { workerUsers } from "./runtime/identities.ts";
export { createRuntime, type RuntimeOptions } from "./runtime/pool.ts";
export { createEgressCheck, serveEgress } from "./runtime/egress/policy.ts";
export type {
  WorkerRuntime,
  InboundMail,
  MailActions,
  InvocationOutcome,
  EmailOutcome,
  ThrownException,
  WorkerUsage,
  Invocation,
} from "./runtime/port.ts";
export {
  createD1BookmarkGenerator,
  d1Errors,
  d1Limits,
  type D1Database,
  type D1DatabaseList,
  type D1Databases,
  type D1Transfer,
  type D1Transfers,
} from "./bindings/d1/index.ts";
export { ANALYTICS_QUERY_BYTES, type Analytics } from "./bindings/analytics/index.ts";
export {
  expiryOf,
  keyBytes,
  kvErrors,
  kvLimits,
  type KvBulk,
  type KvEntry,
  type KvNamespace,
  type KvNamespaces,
  type KvStore,
} from "./bindings/kv/index.ts";
export {
  conditionsOf as r2Conditions,
  metadataFromHeaders as r2MetadataFromHeaders,
  readHttpObject as readR2Object,
  jurisdictions as r2Jurisdictions,
  listPermittedBuckets,
  locations as r2Locations,
  r2Errors,
  type ListedObject as R2ListedObject,
  type R2Bucket,
  type R2BucketList,
  type R2Buckets,
} from "./bindings/r2/index.ts";
export {
  bucketSettingsErrors,
  defaultLifecycle,
  corsMethods,
  notificationActions,
  tlsVersions,
  type BucketRef,
  type BucketSettingsStore,
  type CustomDomain,
  type NotificationRule,
} from "./bucket-settings/index.ts";
export { managedHost } from "./public-buckets/index.ts";
export { objectErrors, objectLimits, type DurableObjectMigrations, type ObjectNamespaces } from "./objects/index.ts";
export {
  queueErrors,
  queueLimits,
  type QueueConsumer,
  type NewQueueConsumer,
  type NewQueueMessage,
  type Queue,
  type QueueMessage,
  type QueueMessages,
  type QueueMetrics,
  type QueueSettings,
  type Queues,
} from "./queues/index.ts";
export {
  type CheckDomainAccess,
  type WorkerDomain,
  type WorkerRoute,
  type RoutingZone,
  type WantedDomain,
  type WorkerRouting,
} from "./routing/index.ts";
export {
  secretsStoreErrors,
  SECRET_SCOPES,
  secretsStoreLimits,
  type SecretScope,
  type SecretsStore,
  type SecretStore,
  type StoredSecret,
} from "./secrets-store/index.ts";
export { OLDEST_COMPATIBILITY_DATE } from "./scripts/checks.ts";
export { createScripts } from "./scripts/scripts.ts";
export { parseCron } from "./schedules/cron.ts";
export { scriptsMigrations } from "./scripts/schema.ts";
export { createLiveWorkers } from "./live/live.ts";
export { workersMigrations } from "./migrations.ts";
export { meterWorkers } from "./worker-metrics.ts";
export { createWorkerRuntime } from "./worker-runtime.ts";
export { createWorkers, type Workers } from "./workers.ts";
export {
  MAX_TAIL_CONSUMERS,
  tailErrors,
  type ReaderConnection,
  type Tail,
  type TailReader,
  type Tails,
} from "./tails/index.ts";
export { importWranglerState, type CopiedResource, type WranglerStateImportResult } from "./wrangler-state/index.ts";
