import type { Clock } from "../../kernel/index.ts";
import type { R2Buckets } from "../bindings/r2/index.ts";
import { affectedBefore } from "./lifecycle.ts";
import type { BucketRef, BucketSettings, BucketSettingsStore, LifecycleRule } from "./port.ts";

interface LifecycleDeps {
  settings: Pick<BucketSettingsStore, "withLifecycle">;
  buckets: Pick<R2Buckets, "list" | "expire" | "changeStorageClass" | "listUploads" | "abortUpload">;
  clock: Clock;
}

/** Buckets read per query. */
const BUCKETS = 100;

/**
 * Executes the lifecycle rules of all buckets. A run lists each bucket once per rule, so it runs hourly; clients expect
 * the effect of a rule within a day. Several processes may run at the same time. Stops early when `isStopping` returns true.
 */
export function createLifecycleSweep({ settings, buckets, clock }: LifecycleDeps) {
  async function sweep(isStopping: () => boolean = () => false): Promise<void> {
    let after = "";
    for (;;) {
      const page = await settings.withLifecycle(after, BUCKETS);
      for (const bucket of page) await applyRules(bucket, isStopping);
      if (page.length < BUCKETS || isStopping()) return;
      after = page.at(-1)!.id;
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
    // Most runs of a rule with a date have nothing to do.
    if (deleteBefore === -Infinity && moveBefore === -Infinity) return;
    let cursor: string | undefined;
    do {
      const page = await buckets.list(bucket, {
        prefix: rule.conditions.prefix,
        ...(cursor !== undefined && { cursor }),
      });
      // By version: an object that is overwritten in the meantime remains.
      const expired = page.objects.filter(({ uploaded }) => uploaded.getTime() < deleteBefore);
      const moved = page.objects.filter(
        (object) =>
          object.uploaded.getTime() < moveBefore && object.storageClass === "Standard" && !expired.includes(object),
      );
      if (expired.length > 0)
        await buckets.expire(
          bucket,
          expired.map(({ version }) => version),
        );
      if (moved.length > 0)
        await buckets.changeStorageClass(
          bucket,
          moved.map(({ version }) => version),
          "InfrequentAccess",
        );
      cursor = page.cursor;
    } while (cursor !== undefined && !isStopping());
  }

  async function abortUploads(
    bucket: string,
    { conditions: { prefix }, abortMultipartUploadsTransition: abort }: LifecycleRule,
    isStopping: () => boolean,
  ): Promise<void> {
    if (abort === undefined) return;
    const before = affectedBefore(abort.condition, clock.now());
    let last: { key: string; uploadId: string } | undefined;
    for (;;) {
      const { uploads, more } = await buckets.listUploads(bucket, {
        prefix,
        ...(last && { afterKey: last.key, afterUpload: last.uploadId }),
      });
      for (const upload of uploads) if (upload.createdAt.getTime() < before) await buckets.abortUpload(bucket, upload);
      if (!more || isStopping()) return;
      last = uploads.at(-1)!;
    }
  }

  return { sweep };
}

/** Time between two runs. */
export const LIFECYCLE_MS = 3600_000;
