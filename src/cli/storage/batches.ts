/** The API's own bound on one request: ten thousand pairs, 100 MB. We stay below the second. */
const MAX_ENTRIES = 10_000;
const MAX_LENGTH = 50 * 1024 * 1024;

/** A long list in pieces that one request each takes. */
export function* batches<Item>(
  items: readonly Item[],
  { maxEntries = MAX_ENTRIES, maxLength = MAX_LENGTH } = {},
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
