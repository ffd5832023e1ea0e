export {
  bucketCursor,
  jurisdictions,
  locations,
  nameOfBucketCursor,
  type R2Bucket,
  type R2BucketList,
} from "./bucket-list.ts";
export { type R2Buckets } from "./buckets.ts";
export { r2Errors } from "./errors.ts";
export type * from "./object.ts";
export { r2Migrations } from "./r2-table.ts";
export { createR2Service, type R2Service } from "./service.ts";
export { conditionsOf, metadataFromHeaders } from "./http-headers.ts";
export { readHttpObject } from "./http-object.ts";
export { cursorAfterPrefix, lastEntryOfCursor } from "./list.ts";
export { listPermittedBuckets } from "./permitted-buckets.ts";
