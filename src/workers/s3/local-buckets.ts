import { bucketCursor, nameOfBucketCursor, r2Errors, type R2Bucket } from "../bindings/r2/index.ts";
import type { S3BucketList } from "./request-context.ts";

/**
 * Creates the buckets of `reelpost dev`: a bucket exists for every valid name, as for the bindings of workers. `names`
 * returns the buckets that the workers use.
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
    get: async (_, name) => (isBucketName(name) ? bucketOf(name) : undefined),
    async list(_, { contains = "", cursor, limit = 20 } = {}) {
      const after = cursor === undefined ? "" : nameOfBucketCursor(cursor);
      const rest = [...new Set(names())].sort().filter((name) => name.includes(contains) && name > after);
      const page = rest.slice(0, limit);
      return { buckets: page.map(bucketOf), ...(rest.length > limit && { cursor: bucketCursor(page.at(-1)!) }) };
    },
    async create(_, name) {
      if (!isBucketName(name)) throw r2Errors.invalidBucketName();
      return bucketOf(name);
    },
    async delete() {
      throw r2Errors.invalidArgument({
        problem: "Buckets cannot be deleted in development: they exist without being created.",
      });
    },
    confirm: async () => {},
  };
}

/** The access key id and secret of the only access key of `reelpost dev`. */
export const localS3Key = "local";

const isBucketName = (name: string) => /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name);
