import { r2Errors, type R2Bucket, type R2BucketList } from "../../../workers/index.ts";
import { apiErrors } from "../../errors.ts";
import type { Call } from "../../operation.ts";

export const BUCKETS = "/accounts/{account_id}/r2/buckets";
export const ONE_BUCKET = `${BUCKETS}/{bucket_name}`;

export type BucketCall = Pick<Call, "params" | "request" | "caller">;

/**
 * Resolves with the bucket specified in the path. If the header specifies a jurisdiction, it must match. Throws
 * noSuchBucket, and notAllowed if a policy of the token denies the objects of the bucket: changing a bucket's settings
 * can delete or publish its objects.
 */
export async function bucketOf(list: R2BucketList, call: BucketCall): Promise<R2Bucket> {
  const { params, request } = call;
  const bucket = await list.get(params.account_id!, params.bucket_name!);
  const jurisdiction = request.headers.get("cf-r2-jurisdiction");
  if (!bucket || (jurisdiction !== null && jurisdiction !== bucket.jurisdiction)) throw r2Errors.noSuchBucket();
  requireBucket(call, bucket);
  return bucket;
}

/** True if the token's policies on the bucket itself allow the access, in addition to the permission on the account. */
export const isBucketAllowed = (
  { params, caller }: BucketCall,
  access: "Read" | "Write",
  { name, jurisdiction }: Pick<R2Bucket, "name" | "jurisdiction">,
): boolean =>
  caller.allows(`Workers R2 Storage Bucket Item ${access}`, {
    account: params.account_id!,
    bucket: name,
    jurisdiction,
  });

/** Throws notAllowed unless the token's policies on the bucket allow the method of the request. */
export function requireBucket(call: BucketCall, bucket: Pick<R2Bucket, "name" | "jurisdiction">): void {
  const { method } = call.request;
  const access = method === "GET" || method === "HEAD" ? "Read" : "Write";
  if (!isBucketAllowed(call, access, bucket))
    throw apiErrors.notAllowed({ permission: JSON.stringify(`Workers R2 Storage Bucket Item ${access}`) });
}

/** Returns a header with an enumerated value. Throws invalidArgument. */
export function wordHeader<Word extends string>(
  { request }: Pick<Call, "request">,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = request.headers.get(name);
  if (value === null || value === "") return undefined;
  const word = words.find((candidate) => candidate === value);
  if (word === undefined)
    throw r2Errors.invalidArgument({
      problem: `The header ${name} must be one of ${words.join(", ")}, not ${JSON.stringify(value)}.`,
    });
  return word;
}

export const STORAGE_CLASSES = ["Standard", "InfrequentAccess"] as const;
