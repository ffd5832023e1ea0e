/** The API limits one request to ten thousand pairs and 100 MB. Batches stay below the size limit. */
const MAX_ENTRIES = 10_000;
const MAX_BATCH_BYTES = 50 * 1024 * 1024;

/** Splits a long list into batches for one request each. */
export function* batches<Item>(
  items: readonly Item[],
  { maxEntries = MAX_ENTRIES, maxLength = MAX_BATCH_BYTES } = {},
): Generator<Item[]> {
  let batch: Item[] = [];
  let length = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (batch.length > 0 && (batch.length === maxEntries || length + size > maxLength)) {
      yield batch;
      [batch, length] = [[], 0];
    }
    batch.push(item);
    length += size;
  }
  if (batch.length > 0) yield batch;
}
