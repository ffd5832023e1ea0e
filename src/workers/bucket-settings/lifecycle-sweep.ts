import type { Clock } from "../../kernel/index.ts";
import type { R2Buckets } from "../bindings/r2/index.ts";
import { affectedBefore } from "./lifecycle.ts";
import type { BucketRef, BucketSettings, BucketSettingsStore, LifecycleRule } from "./port.ts";

interface LifecycleSweepDeps {
  settings: Pick<BucketSettingsStore, "listWithLifecycle">;
  buckets: Pick<R2Buckets, "list" | "expire" | "changeStorageClass" | "listUploads" | "abortUpload">;
  clock: Clock;
}

/** Maximum number of buckets per query. */
const BUCKETS_PER_PAGE = 100;

/**
 * Applies the lifecycle rules of all buckets. A sweep lists each bucket once per rule, so it runs only hourly; clients
 * expect a rule to take effect within a day. Several processes may sweep at the same time. A sweep ends early when
 * `isStopping` returns true.
 */
export function createLifecycleSweep({ settings, buckets, clock }: LifecycleSweepDeps) {
  async function sweep(isStopping: () => boolean = () => false): Promise<void> {
    let afterId = "";
    for (;;) {
      const page = await settings.listWithLifecycle(afterId, BUCKETS_PER_PAGE);
      for (const bucket of page) await applyRules(bucket, isStopping);
      if (page.length < BUCKETS_PER_PAGE || isStopping()) return;
      afterId = page.at(-1)!.id;
    }
  }

  async function applyRules(
    { id, lifecycle = [] }: BucketSettings & BucketRef,
    isStopping: () => boolean,
  ): Promise<void> {
    for (const rule of lifecycle) {
      if (!rule.enabled || isStopping()) continue;
      await abortUploads(id, rule, isStopping);
      if (rule.deleteObjectsTransition !== undefined || (rule.storageClassTransitions ?? []).length > 0)
        await applyToObjects(id, rule, isStopping);
    }
  }

  async function applyToObjects(bucket: string, rule: LifecycleRule, isStopping: () => boolean): Promise<void> {
    const now = clock.now();
    const { deleteObjectsTransition: deletion, storageClassTransitions: transitions = [] } = rule;
    const deleteBefore = deletion ? affectedBefore(deletion.condition, now) : -Infinity;
    const moveBefore = Math.max(-Infinity, ...transitions.map(({ condition }) => affectedBefore(condition, now)));
    // Most sweeps have nothing to do for a rule with a date.
    if (deleteBefore === -Infinity && moveBefore === -Infinity) return;
    let cursor: string | undefined;
    do {
      const page = await buckets.list(bucket, {
        prefix: rule.conditions.prefix,
        ...(cursor !== undefined && { cursor }),
      });
      // Objects are deleted by version, so that an object that is overwritten in the meantime is kept.
      const expiredObjects = page.objects.filter(({ uploaded }) => uploaded.getTime() < deleteBefore);
      const movedObjects = page.objects.filter(
        (object) =>
          object.uploaded.getTime() < moveBefore &&
          object.storageClass === "Standard" &&
          !expiredObjects.includes(object),
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
    } while (cursor !== undefined && !isStopping());
  }

  async function abortUploads(
    bucket: string,
    { conditions: { prefix }, abortMultipartUploadsTransition: abortTransition }: LifecycleRule,
    isStopping: () => boolean,
  ): Promise<void> {
    if (abortTransition === undefined) return;
    const createdBefore = affectedBefore(abortTransition.condition, clock.now());
    let lastUpload: { key: string; uploadId: string } | undefined;
    for (;;) {
      const { uploads, more } = await buckets.listUploads(bucket, {
        prefix,
        ...(lastUpload && { afterKey: lastUpload.key, afterUpload: lastUpload.uploadId }),
      });
      for (const upload of uploads)
        if (upload.createdAt.getTime() < createdBefore) await buckets.abortUpload(bucket, upload);
      if (!more || isStopping()) return;
      lastUpload = uploads.at(-1)!;
    }
  }

  return { sweep };
}

/** Interval between two sweeps. */
export const LIFECYCLE_SWEEP_MS = 3600_000;
