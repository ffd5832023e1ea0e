import type { Readable } from "node:stream";
import type { Clock } from "../../kernel/index.ts";
import type { R2Bucket, R2BucketList, R2Buckets } from "../bindings/r2/index.ts";
import type { BucketRef, BucketSettingsStore } from "../bucket-settings/index.ts";
import type { S3Address } from "./address.ts";
import type { S3Body } from "./payload.ts";

/** The buckets of accounts. In development every name is a bucket. */
export type S3BucketList = Pick<R2BucketList, "get" | "list" | "create" | "delete" | "confirm">;

export interface S3Deps {
  buckets: R2Buckets;
  bucketList: S3BucketList;
  settings: BucketSettingsStore;
  clock: Clock;
}

/** An authenticated request. */
export interface S3Call {
  method: string;
  address: S3Address;
  /** "" in development. */
  account: string;
  query: ReadonlyMap<string, string>;
  headers: Headers;
  /** The resource of the path, for errors and results. */
  resource: string;
  body(): S3Body;
  /** Throws accessDenied unless the key has the permission for the objects of the bucket; without one, of the account. */
  require(access: "Read" | "Write", bucket: Pick<R2Bucket, "name" | "jurisdiction"> | undefined): void;
  /** True if `require` would not throw. */
  may(access: "Read" | "Write", bucket: Pick<R2Bucket, "name" | "jurisdiction">): boolean;
}

export interface S3Answer {
  status: number;
  headers?: Headers | Record<string, string>;
  /** A text is an XML document. */
  body?: string | Readable;
}

/** The bucket in the path. Throws noSuchBucket. */
export async function bucketOf(
  { account, address: { jurisdiction } }: Pick<S3Call, "account" | "address">,
  { bucketList }: S3Deps,
  name: string,
): Promise<R2Bucket | undefined> {
  const bucket = await bucketList.get(account, name);
  return jurisdiction === undefined || bucket?.jurisdiction === jurisdiction ? bucket : undefined;
}

export const refOf = ({ account }: Pick<S3Call, "account">, { id, name }: R2Bucket): BucketRef => ({
  id,
  account,
  name,
});
