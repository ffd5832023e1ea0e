import type { Readable } from "node:stream";
import type { Clock } from "../../kernel/index.ts";
import type { R2Bucket, R2BucketList, R2Buckets } from "../bindings/r2/index.ts";
import type { BucketRef, BucketSettingsStore } from "../bucket-settings/index.ts";
import type { S3Address } from "./address.ts";
import type { S3Body } from "./payload.ts";

/** The buckets of each account. In development, a bucket exists for every valid name. */
export type S3BucketList = Pick<R2BucketList, "get" | "list" | "create" | "delete" | "confirm">;

export interface S3Deps {
  buckets: R2Buckets;
  bucketList: S3BucketList;
  settings: BucketSettingsStore;
  clock: Clock;
}

/** An authenticated request and its permissions. */
export interface S3RequestContext {
  method: string;
  address: S3Address;
  /** "" in development. */
  account: string;
  query: ReadonlyMap<string, string>;
  headers: Headers;
  /** The path of the request, for errors and results. */
  resource: string;
  body(): S3Body;
  /** Reads an XML body of at most `maxBytes`. Throws xmlTooLarge, slowDown. */
  collectBody(maxBytes: number): Promise<Buffer>;
  /**
   * Throws accessDenied unless the key has the permission for the objects of the bucket or, without a bucket, for the
   * account.
   */
  requirePermission(access: "Read" | "Write", bucket: Pick<R2Bucket, "name" | "jurisdiction"> | undefined): void;
  /** True if `requirePermission` would not throw. */
  hasPermission(access: "Read" | "Write", bucket: Pick<R2Bucket, "name" | "jurisdiction">): boolean;
}

export interface S3Response {
  status: number;
  headers?: Headers | Record<string, string>;
  /** A string is an XML document. */
  body?: string | Readable;
}

/** Resolves with the bucket in the path. Throws noSuchBucket. */
export async function resolveBucket(
  { account, address: { jurisdiction } }: Pick<S3RequestContext, "account" | "address">,
  { bucketList }: S3Deps,
  name: string,
): Promise<R2Bucket | undefined> {
  const bucket = await bucketList.get(account, name);
  return jurisdiction === undefined || bucket?.jurisdiction === jurisdiction ? bucket : undefined;
}

export const toBucketRef = ({ account }: Pick<S3RequestContext, "account">, { id, name }: R2Bucket): BucketRef => ({
  id,
  account,
  name,
});
