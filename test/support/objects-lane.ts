import { createHash } from "node:crypto";
import { resolve } from "node:path";

/**
 * With `npm test -- --objects-in-s3`, scripts/test.ts sets this variable to the URL of a bucket, and the variables of
 * the AWS SDK to its credentials. Tests then store objects in the bucket.
 */
export const OBJECTS_IN_S3 = "REELPOST_TEST_OBJECTS_IN_S3";

/** Returns the `objects.url` that replaces this folder; undefined if objects are in folders. */
export function replacementObjectsUrl(folder: string): string | undefined {
  const url = process.env[OBJECTS_IN_S3];
  if (url === undefined) return undefined;
  const prefix = createHash("sha256").update(resolve(folder)).digest("hex").slice(0, 16);
  return url.replace("?", `/${prefix}?`);
}
