import { r2Errors, type R2Bucket, type R2BucketList } from "../../../workers/index.ts";
import type { Call } from "../../operation.ts";

export const BUCKETS = "/accounts/{account_id}/r2/buckets";
export const ONE_BUCKET = `${BUCKETS}/{bucket_name}`;

/** The bucket specified in the path. If the header specifies a jurisdiction, it must match. Throws noSuchBucket. */
export async function bucketOf(
  list: R2BucketList,
  { params, request }: Pick<Call, "params" | "request">,
): Promise<R2Bucket> {
  const bucket = await list.get(params.account_id!, params.bucket_name!);
  const jurisdiction = request.headers.get("cf-r2-jurisdiction");
  if (!bucket || (jurisdiction !== null && jurisdiction !== bucket.jurisdiction)) throw r2Errors.noSuchBucket();
  return bucket;
}

/** A header with an enumerated value. Throws invalidArgument. */
export function wordHeader<Word extends string>(
  { request }: Pick<Call, "request">,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = request.headers.get(name);
  if (value === null || value === "") return undefined;
  const word = words.find((one) => one === value);
  if (word === undefined)
    throw r2Errors.invalidArgument({
      problem: `The header ${name} must be one of ${words.join(", ")}, not ${JSON.stringify(value)}.`,
    });
  return word;
}

export const STORAGE_CLASSES = ["Standard", "InfrequentAccess"] as const;
