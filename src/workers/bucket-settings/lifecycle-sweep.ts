import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../kernel/index.ts";
import type { R2Buckets } from "../bindings/r2/index.ts";
import { affectedBefore } from "./lifecycle.ts";
import type { BucketRef, BucketSettings, BucketSettingsStore, LifecycleRule } from "./port.ts";

interface LifecycleSweepDeps {
  settings: Pick<BucketSettingsStore, "accountsWithLifecycle" | "listWithLifecycle">;
  buckets: Pick<R2Buckets, "list" | "expire" | "changeStorageClass" | "listUploads" | "abortUpload">;
  clock: Clock;
  /** Maximum number of pages that one sweep lists for an account. The next sweep continues after them. */
  pagesPerAccount?: number;
}

/** Up to five million objects. */
const PAGES_PER_ACCOUNT = 5000;
/** Number of accounts that take turns. */
const ACCOUNTS_PER_ROUND = 100;

/** Where the sweep of an account continues: before a certain page of one rule of one bucket. */
interface Position {
  bucket: string;
  /** Index of the rule. */
  rule: number;
  /** The sweep continues with the objects after this cursor; undefined until all uploads have been handled. */
  cursor?: string | undefined;
  /** The sweep continues with the uploads after this one. */
  lastUpload?: { key: string; uploadId: string } | undefined;
}

/**
 * Applies the lifecycle rules of all buckets. A sweep lists each bucket once per rule, so it runs only hourly; clients
 * expect a rule to take effect within a day. Accounts take turns page by page, so that one with many objects does not
 * delay the others. Several processes may sweep at the same time. A sweep ends early when `isStopping` returns true.
 */
export function createLifecycleSweep({
  settings,
  buckets,
  clock,
  pagesPerAccount = PAGES_PER_ACCOUNT,
}: LifecycleSweepDeps) {
  /** Accounts whose last sweep reached the maximum. */
  const unfinished = new Map<string, Position>();

  /** Rejects with the first error, after the sweep of the other accounts. */
  async function sweep(isStopping: () => boolean = () => false): Promise<void> {
    const errors: unknown[] = [];
    let after: string | undefined;
    for (;;) {
      const accounts = await settings.accountsWithLifecycle(after, ACCOUNTS_PER_ROUND);
      await sweepAccounts(accounts, isStopping, errors);
      if (accounts.length < ACCOUNTS_PER_ROUND || isStopping()) break;
      after = accounts.at(-1);
    }
    if (errors.length > 0) throw errors[0];
  }

  async function sweepAccounts(accounts: string[], isStopping: () => boolean, errors: unknown[]): Promise<void> {
    let active = accounts.map((account) => ({ account, pages: pagesOf(account, unfinished.get(account)), count: 0 }));
    while (active.length > 0) {
      const remaining: typeof active = [];
      for (const work of active) {
        if (isStopping()) return;
        const isOver = await handlePage(work).catch((err: unknown) => errors.push(err));
        if (isOver === false) remaining.push(work);
        // SQLite queries are synchronous; this gives other work a turn.
        await setImmediate();
      }
      active = remaining;
    }
  }

  /** Handles one page. Resolves with true if the account has no further pages, or has reached the maximum. */
  async function handlePage(work: { account: string; pages: AsyncGenerator<Position>; count: number }) {
    const { done, value: position } = await work.pages.next();
    if (done === true) {
      unfinished.delete(work.account);
      return true;
    }
    if (++work.count < pagesPerAccount) return false;
    unfinished.set(work.account, position as Position);
    return true;
  }

  /** Handles one page per step, and yields the position after it. */
  async function* pagesOf(account: string, start?: Position): AsyncGenerator<Position> {
    let from = start;
    for (;;) {
      const [bucket, next] = await settings.listWithLifecycle(account, from?.bucket ?? "", 2);
      if (bucket === undefined) return;
      yield* bucketPages(bucket, from?.bucket === bucket.id ? from : undefined);
      if (next === undefined) return;
      from = { bucket: next.id, rule: 0 };
      yield from;
    }
  }

  async function* bucketPages({ id, lifecycle = [] }: BucketSettings & BucketRef, start?: Position) {
    for (const [rule, each] of lifecycle.entries()) {
      if (!each.enabled || (start !== undefined && rule < start.rule)) continue;
      const within = start?.rule === rule ? start : undefined;
      if (within?.cursor === undefined) yield* uploadPages({ bucket: id, rule, lastUpload: within?.lastUpload }, each);
      if (each.deleteObjectsTransition !== undefined || (each.storageClassTransitions ?? []).length > 0)
        yield* objectPages({ bucket: id, rule, cursor: within?.cursor }, each);
    }
  }

  async function* objectPages(
    { bucket, rule, cursor: start }: Position,
    { conditions, deleteObjectsTransition: deletion, storageClassTransitions: transitions = [] }: LifecycleRule,
  ): AsyncGenerator<Position> {
    const now = clock.now();
    const deleteBefore = deletion ? affectedBefore(deletion.condition, now) : -Infinity;
    const moveBefore = Math.max(-Infinity, ...transitions.map(({ condition }) => affectedBefore(condition, now)));
    // For a rule with a date, most sweeps have nothing to do.
    if (deleteBefore === -Infinity && moveBefore === -Infinity) return;
    let cursor = start;
    do {
      const page = await buckets.list(bucket, {
        prefix: conditions.prefix,
        ...(cursor !== undefined && { cursor }),
      });
      // Objects are deleted by version, so that an object that is overwritten in the meantime is kept.
      const expiredObjects = page.objects.filter(({ uploaded }) => uploaded.getTime() < deleteBefore);
      const movedObjects = page.objects.filter(
        ({ uploaded, storageClass }) =>
          uploaded.getTime() >= deleteBefore && uploaded.getTime() < moveBefore && storageClass === "Standard",
      );
      if (expiredObjects.length > 0)
        await buckets.expire(
          bucket,
          expiredObjects.map(({ version }) => version),
        );
      if (movedObjects.length > 0)
        await buckets.changeStorageClass(
          bucket,
          movedObjects.map(({ version }) => version),
          "InfrequentAccess",
        );
      cursor = page.cursor;
      if (cursor !== undefined) yield { bucket, rule, cursor };
    } while (cursor !== undefined);
  }

  async function* uploadPages(
    { bucket, rule, lastUpload: start }: Position,
    { conditions: { prefix }, abortMultipartUploadsTransition: abortTransition }: LifecycleRule,
  ): AsyncGenerator<Position> {
    if (abortTransition === undefined) return;
    const createdBefore = affectedBefore(abortTransition.condition, clock.now());
    let lastUpload = start;
    for (;;) {
      const { uploads, more } = await buckets.listUploads(bucket, {
        prefix,
        ...(lastUpload && { afterKey: lastUpload.key, afterUpload: lastUpload.uploadId }),
      });
      for (const upload of uploads)
        if (upload.createdAt.getTime() < createdBefore) await buckets.abortUpload(bucket, upload);
      if (!more) return;
      const { key, uploadId } = uploads.at(-1)!;
      lastUpload = { key, uploadId };
      yield { bucket, rule, lastUpload };
    }
  }

  return { sweep };
}

/** Interval between two sweeps. */
export const LIFECYCLE_SWEEP_MS = 3600_000;
