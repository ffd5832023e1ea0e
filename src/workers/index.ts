export { workerErrors } from "./errors.ts";
export type { SendEmailPort, SendEmailCaller, EmailSendResult, MailBuilderFields, StreamPort } from "./ports.ts";
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
  createFolderSite,
  type FolderSite,
  createAssets,
  type AssetUploads,
  assetMigrations,
} from "./assets/index.ts";
export { createBindings, type Bindings } from "./bindings/bindings.ts";
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
  bucketSettingsMigrations,
  createBucketSettings,
} from "./bucket-settings/index.ts";
export { createLocalPlatform, type LocalPlatform, type LocalWorker } from "./local/index.ts";
export { managedHost } from "./public-buckets/index.ts";
export {
  createObjectAlarms,
  createObjectNamespaces,
  createScriptObjects,
  objectErrors,
  localObjectBindings,
  localObjects,
  objectLimits,
  openObjectStorage,
  type DurableObjectMigrations,
  type ObjectNamespace,
  type ObjectNamespaces,
} from "./objects/index.ts";
export {
  queueErrors,
  queueLimits,
  queueMigrations,
  createQueueStore,
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
  createHostOwners,
  type CheckDomainAccess,
  type WorkerDomain,
  type WorkerRoute,
  type RoutingZone,
  type WantedDomain,
  type WorkerRouting,
  createWorkerRouting,
  routingMigrations,
} from "./routing/index.ts";
export {
  secretsStoreErrors,
  SECRET_SCOPES,
  secretsStoreLimits,
  type SecretScope,
  type SecretsStore,
  type SecretStore,
  type StoredSecret,
  secretsStoreMigrations,
  createSecretsStore,
} from "./secrets-store/index.ts";
export { createLocalBucketList, createS3HttpHandler, localS3Key } from "./s3/index.ts";
export {
  type FolderAsset,
  watchedFiles,
  RATE_LIMIT_NAMESPACE,
  type Bundler,
  type ProjectBuild,
  createBundler,
  NEWEST_COMPATIBILITY_DATE,
  readProject,
  type ProjectTarget,
  type TargetDatabase,
  type TargetResource,
  type ShownBinding,
  describeBinding,
  type Project,
  type EnvUse,
  explainException,
  explainStartError,
  inspectProject,
} from "./project/index.ts";
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
  createTailConsumers,
  MAX_TAIL_CONSUMERS,
  tailErrors,
  createTails,
  tailMigrations,
  type ReaderConnection,
  type Tail,
  type TailReader,
  type Tails,
} from "./tails/index.ts";
export { importWranglerState, type CopiedResource, type WranglerStateImportResult } from "./wrangler-state/index.ts";
