import { setImmediate } from "node:timers/promises";
import { bucketCursor, type BucketListOptions, type R2Bucket, type R2BucketList } from "./bucket-list.ts";

/** Number of buckets per query. */
const PAGE = 1000;

/**
 * Lists only the buckets that `isPermitted` accepts. Pages are filled with such buckets, and the cursor is the name of
 * the last one, so neither reveals how many other buckets exist or what they are called. Throws invalidArgument.
 */
export async function listPermittedBuckets(
  list: Pick<R2BucketList, "list">,
  account: string,
  { limit = 20, ...options }: BucketListOptions,
  isPermitted: (bucket: R2Bucket) => boolean,
): Promise<{ buckets: R2Bucket[]; cursor?: string }> {
  const permitted: R2Bucket[] = [];
  let position = options.cursor;
  for (let pageSize = Math.min(limit + 1, PAGE); ; pageSize = PAGE) {
    const page = await list.list(account, {
      ...options,
      limit: pageSize,
      ...(position !== undefined && { cursor: position }),
    });
    permitted.push(...page.buckets.filter(isPermitted));
    if (permitted.length > limit)
      return { buckets: permitted.slice(0, limit), cursor: bucketCursor(permitted[limit - 1]!.name) };
    if (page.cursor === undefined) return { buckets: permitted };
    position = page.cursor;
    // SQLite queries are synchronous; this gives other requests a turn.
    await setImmediate();
  }
}
