export {
  createR2BucketList,
  jurisdictions,
  locations,
  type BucketListOptions,
  type Jurisdiction,
  type Location,
  type NewBucket,
  type R2Bucket,
  type R2BucketList,
  type R2BucketListOptions,
} from "./bucket-list.ts";
export { createR2Buckets, type R2Buckets, type R2Options } from "./buckets.ts";
export { r2Errors } from "./errors.ts";
export type { R2Limits } from "./limits.ts";
export type * from "./object.ts";
export { r2Migrations } from "./r2-table.ts";
export { createR2Service, type R2Service } from "./service.ts";
export type { Swept, SweepOptions } from "./sweep.ts";
export { holds } from "./conditions.ts";
