export { corsHeaders, preflightHeaders } from "./cors.ts";
export { bucketSettingsErrors } from "./errors.ts";
export { defaultLifecycle } from "./lifecycle.ts";
export { watchDeletedZones } from "./deleted-zones.ts";
export { createLifecycleSweep, LIFECYCLE_SWEEP_MS } from "./lifecycle-sweep.ts";
export { createR2Notifications } from "./notifications.ts";
export {
  corsMethods,
  notificationActions,
  tlsVersions,
  type BucketRef,
  type BucketSettingsStore,
  type CorsRule,
  type CustomDomain,
  type DomainBucket,
  type LifecycleRule,
  type NotificationRule,
} from "./port.ts";
export { bucketSettingsMigrations } from "./schema.ts";
export { createBucketSettings } from "./settings.ts";
