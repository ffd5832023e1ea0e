/** Returns the median; the mean of the middle two for an even count. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("no values to take the median of");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
