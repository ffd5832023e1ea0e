export type { FindS3Key } from "./authenticate.ts";
export { createS3HttpHandler } from "./http.ts";
export { createLocalBucketList, localS3Key } from "./local-buckets.ts";
