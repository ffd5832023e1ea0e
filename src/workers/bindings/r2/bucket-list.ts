import { randomIds, systemClock, type Clock, type Ids } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { createTtlCache } from "../recently-seen.ts";
import { createBucketTable, type BucketRow } from "./bucket-table.ts";
import type { R2Buckets } from "./buckets.ts";
import { r2Errors } from "./errors.ts";
import { checkBucket } from "./limits.ts";
import type { StorageClass } from "./object.ts";

/**
 * The buckets of accounts. A name is unique within an account; objects are stored under the bucket's `id`, which is
 * never reused. Throws UserErrors of `r2Errors`; resolves once the change is on disk.
 */
export interface R2BucketList {
  /** Throws invalidBucketName, bucketExists. */
  create(account: string, name: string, options?: NewBucket): Promise<R2Bucket>;
  get(account: string, name: string): Promise<R2Bucket | undefined>;
  /** Ordered by name. */
  list(account: string, options?: BucketListOptions): Promise<{ buckets: R2Bucket[]; cursor?: string }>;
  /** Throws noSuchBucket. */
  changeStorageClass(account: string, name: string, storageClass: StorageClass): Promise<R2Bucket>;
  /** Throws noSuchBucket, bucketNotEmpty. */
  delete(account: string, name: string): Promise<void>;
  /** Used when creating a binding to the bucket. */
  exists(account: string, name: string): Promise<boolean>;
  /**
   * Like get(), for a worker, which calls it on every operation: a change on another machine may be seen a few seconds
   * late. Throws noSuchBucket.
   */
  resolve(account: string, name: string): Promise<Pick<R2Bucket, "id" | "storageClass">>;
  /**
   * Call after a write: throws noSuchBucket or unavailable if the bucket was deleted meanwhile, possibly with the
   * written data.
   */
  confirm(id: string): Promise<void>;
  /**
   * Completes deletions that a crash interrupted, and removes objects written into a deleted bucket at the last moment.
   */
  sweep(): Promise<void>;
}

export interface R2Bucket {
  /** 32 hex digits: the bucket name used with R2Buckets. */
  id: string;
  name: string;
  createdAt: Date;
  storageClass: StorageClass;
  jurisdiction: Jurisdiction;
  /** As requested by the client. */
  location?: Location;
}

export const locations = ["apac", "eeur", "enam", "weur", "wnam", "oc"] as const;
export const jurisdictions = ["default", "eu", "fedramp"] as const;
type Location = (typeof locations)[number];
type Jurisdiction = (typeof jurisdictions)[number];

interface NewBucket {
  storageClass?: StorageClass;
  location?: Location;
  jurisdiction?: Jurisdiction;
}

export interface BucketListOptions {
  contains?: string;
  startAfter?: string;
  cursor?: string;
  direction?: "asc" | "desc";
  /** 1 to 1000, default 20. */
  limit?: number;
}

export interface R2BucketListOptions {
  db: Db;
  buckets: R2Buckets;
  /** Called after a bucket has been deleted. A later sweep may call it again for the same bucket. */
  onRemoved?(id: string): Promise<void>;
  clock?: Clock;
  ids?: Ids;
}

/** Number of deleted buckets read per query. */
const BATCH_SIZE = 100;
/** Checking whether a bucket is empty never takes this long, so the process that was checking has died. */
const REMOVAL_TIMEOUT_MS = 60_000;
/** Longer than a multipart upload may stay open. */
const REMOVED_RETENTION_MS = 8 * 24 * 3600_000;

export function createR2BucketList({
  db,
  buckets,
  onRemoved = async () => {},
  clock = systemClock,
  ids = randomIds,
}: R2BucketListOptions): R2BucketList {
  const table = createBucketTable(db);
  const bucketCache = createTtlCache<Pick<R2Bucket, "id" | "storageClass">>(clock);
  let sweepInProgress: Promise<void> | undefined;

  async function get(account: string, name: string): Promise<R2Bucket | undefined> {
    const row = await table.find(account, name);
    return row && bucketOf(row);
  }

  async function requireBucket(account: string, name: string): Promise<R2Bucket> {
    const bucket = await get(account, name);
    if (!bucket) throw r2Errors.noSuchBucket();
    return bucket;
  }

  /**
   * A writer checks the state after its write, and a deletion looks for objects after changing the state: at least one
   * of them sees the other, so no acknowledged write is lost with its bucket.
   */
  async function removeIfEmpty(id: string, since: number): Promise<boolean> {
    const isBucketEmpty = await table.isEmpty(id);
    const isChanged = await table.change(
      id,
      { state: "removing", since },
      { state: isBucketEmpty ? "removed" : "live", since: clock.now() },
    );
    // Another deletion has decided the outcome.
    return isChanged ? isBucketEmpty : (await table.stateOf(id)) === "removed";
  }

  async function sweepAll(): Promise<void> {
    let after: { id: string; since: number } | undefined;
    for (;;) {
      const batch = await table.leaving(after, BATCH_SIZE);
      for (const { id, state, since } of batch) {
        if (state === "removing" && since < clock.now() - REMOVAL_TIMEOUT_MS) await removeIfEmpty(id, since);
        if (state !== "removed") continue;
        await clear(id);
        await onRemoved(id);
        if (since < clock.now() - REMOVED_RETENTION_MS) await table.forget(id);
      }
      if (batch.length < BATCH_SIZE) return;
      after = batch.at(-1);
    }
  }

  async function clear(id: string): Promise<void> {
    for (;;) {
      const { objects } = await buckets.list(id);
      if (objects.length === 0) return;
      await buckets.delete(
        id,
        objects.map(({ key }) => key),
      );
    }
  }

  return {
    async create(account, name, { storageClass = "Standard", location, jurisdiction = "default" } = {}) {
      checkBucket(name);
      const row: BucketRow = {
        id: ids.hex(),
        account,
        name,
        storageClass,
        location: location ?? null,
        jurisdiction,
        createdAt: clock.now(),
        state: "live",
        stateSince: clock.now(),
      };
      if (!(await table.create(row))) throw r2Errors.bucketExists();
      return bucketOf(row);
    },

    get,

    async list(account, { contains = "", startAfter, cursor, direction = "asc", limit = 20 } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
        throw r2Errors.invalidArgument({ problem: "The page size must be from 1 to 1000." });
      if (`${contains}${startAfter ?? ""}`.includes("\0"))
        throw r2Errors.invalidArgument({ problem: "A name must not contain U+0000." });
      const starts = [startAfter, cursor === undefined ? undefined : nameOfBucketCursor(cursor)]
        .filter((start) => start !== undefined)
        .sort();
      const after = direction === "asc" ? starts.at(-1) : starts.at(0);
      const rows = await table.page(account, { contains: contains.toLowerCase(), after, direction, limit: limit + 1 });
      const page = rows.slice(0, limit);
      return { buckets: page.map(bucketOf), ...(rows.length > limit && { cursor: bucketCursor(page.at(-1)!.name) }) };
    },

    async changeStorageClass(account, name, storageClass) {
      const bucket = await requireBucket(account, name);
      await table.changeStorageClass(bucket.id, storageClass);
      bucketCache.delete(`${account}/${name}`);
      return { ...bucket, storageClass };
    },

    async delete(account, name) {
      const row = await table.find(account, name);
      if (!row) throw r2Errors.noSuchBucket();
      const { id } = row;
      const notEmptyError = () => r2Errors.bucketNotEmpty({ name, account });
      // Rejects a bucket that is not empty, the common case, without a period in which writers are rejected.
      if (!(await table.isEmpty(id))) throw notEmptyError();
      const since = row.state === "removing" ? row.stateSince : clock.now();
      if (row.state === "live" && !(await table.change(id, { state: "live" }, { state: "removing", since })))
        throw r2Errors.unavailable();
      bucketCache.delete(`${account}/${name}`);
      if (!(await removeIfEmpty(id, since))) throw notEmptyError();
      await onRemoved(id);
    },

    exists: async (account, name) => (await get(account, name)) !== undefined,

    async resolve(account, name) {
      const cachedBucket = bucketCache.get(`${account}/${name}`);
      if (cachedBucket) return cachedBucket;
      const { id, storageClass } = await requireBucket(account, name);
      bucketCache.add(`${account}/${name}`, { id, storageClass });
      return { id, storageClass };
    },

    async confirm(id) {
      const state = await table.stateOf(id);
      // The bucket may turn out not to be empty, in which case it remains.
      if (state === "removing") throw r2Errors.unavailable();
      if (state !== "live") throw r2Errors.noSuchBucket();
    },

    sweep: () => (sweepInProgress ??= sweepAll().finally(() => (sweepInProgress = undefined))),
  };
}

const bucketOf = (row: BucketRow): R2Bucket => ({
  id: row.id,
  name: row.name,
  createdAt: new Date(row.createdAt),
  storageClass: row.storageClass as StorageClass,
  jurisdiction: row.jurisdiction as Jurisdiction,
  ...(row.location !== null && { location: row.location as Location }),
});

/** Returns the cursor of a list that continues after this name. */
export const bucketCursor = (name: string): string => Buffer.from(name).toString("base64url");

/** Throws invalidArgument. */
export function nameOfBucketCursor(cursor: string): string {
  const name = Buffer.from(cursor, "base64url").toString();
  if (cursor === "" || Buffer.from(name).toString("base64url") !== cursor || name.includes("\0"))
    throw r2Errors.invalidArgument({ problem: "The cursor is invalid." });
  return name;
}
