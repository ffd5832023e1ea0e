import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as checkProperty, integer, property } from "fast-check";
import { bucketOfDuration, quantile, durationOfBucket } from "./histogram.ts";

test("a time differs from the middle of its bucket by at most five percent", () => {
  checkProperty(
    property(integer({ min: 1, max: 3_600_000_000 }), (us) => {
      assert.ok(
        Math.abs(durationOfBucket(bucketOfDuration(us)) - us) <= 0.05 * us,
        `${us}: ${durationOfBucket(bucketOfDuration(us))}`,
      );
    }),
  );
  assert.deepEqual([bucketOfDuration(0), durationOfBucket(0)], [0, 0]);
});

test("a quantile is the time that the given share of the invocations did not exceed", () => {
  const histogram = new Map<number, number>();
  for (let us = 1000; us <= 100_000; us += 1000) {
    const bucket = bucketOfDuration(us);
    histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1);
  }
  for (const [share, us] of [
    [0.5, 50_000],
    [0.99, 99_000],
    [1, 100_000],
    [0, 1000],
  ] as const)
    // prettier-ignore
    assert.ok(Math.abs(quantile(histogram, share)! - us) <= 0.06 * us, `${share}: ${quantile(histogram, share)}`);
  assert.equal(quantile(new Map(), 0.5), null);
});
