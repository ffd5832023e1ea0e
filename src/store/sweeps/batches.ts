/** Rows per statement: few enough that other writes do not wait for long. */
const BATCH_SIZE = 500;
/** Limits a single sweep to a million rows; the next one deletes the rest. */
const MAX_BATCHES = 2000;

/**
 * Deletes rows in batches, so that other writes can run in between. `deleteBatch` deletes at most `limit` rows and
 * resolves with their number. Resolves with the total.
 */
export async function deleteInBatches(deleteBatch: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const deleted = await deleteBatch(BATCH_SIZE);
    total += deleted;
    if (deleted < BATCH_SIZE) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
