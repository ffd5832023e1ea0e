import { r2Errors, type R2Bucket } from "../bindings/r2/index.ts";
import type { S3BucketList } from "./call.ts";

/**
 * The buckets of `reelpost dev`: every name is a bucket, as for the bindings of its workers. `names` are those that the
 * workers use.
 */
export function createLocalBucketList(names: () => readonly string[]): S3BucketList {
  const bucketOf = (name: string): R2Bucket => ({
    id: name,
    name,
    createdAt: new Date(0),
    storageClass: "Standard",
    jurisdiction: "default",
  });
  return {
    get: async (_, name) => (isName(name) ? bucketOf(name) : undefined),
    list: async (_, { contains = "" } = {}) => ({
      buckets: [...new Set(names())]
        .sort()
        .filter((name) => name.includes(contains))
        .map(bucketOf),
    }),
    async create(_, name) {
      if (!isName(name)) throw r2Errors.invalidBucketName();
      return bucketOf(name);
    },
    async delete() {
      throw r2Errors.invalidArgument({
        problem: "In development, buckets exist without being created and cannot be deleted.",
      });
    },
    confirm: async () => {},
  };
}

/** The only access key of `reelpost dev`: id and secret. */
export const localS3Key = "local";

const isName = (name: string) => /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name);
