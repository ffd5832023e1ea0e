/**
 * Histograms of times. Their buckets grow by ten percent, so a quantile is accurate to within five percent. Bucket 0 is
 * zero; bucket n begins at 1.1^(n-1) microseconds.
 */
const GROWTH = Math.log(1.1);

export const bucketOfDuration = (us: number): number => (us < 1 ? 0 : 1 + Math.floor(Math.log(us) / GROWTH));

/** Returns the middle of a bucket, in microseconds. */
export const durationOfBucket = (bucket: number): number => (bucket === 0 ? 0 : Math.exp((bucket - 0.5) * GROWTH));

/** Counts by bucket. */
export type Histogram = ReadonlyMap<number, number>;

/**
 * Returns the time in microseconds that the given share of the invocations did not exceed; null if there are no
 * invocations.
 */
export function quantile(histogram: Histogram, share: number): number | null {
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= wanted) return durationOfBucket(bucket);
  }
  return durationOfBucket(buckets.at(-1)![0]);
}
