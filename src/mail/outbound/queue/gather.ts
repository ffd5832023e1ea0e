/**
 * Batches concurrent calls: items that arrive during a write wait and form the next batch. `write` gets all items of a
 * batch, and its result applies to all of them. At most `maxItems` items per batch.
 */
export function createBatcher<Item>(
  write: (items: Item[]) => Promise<void>,
  maxItems: number,
): (item: Item) => Promise<void> {
  let waitingItems: { item: Item; resolve: () => void; reject: (err: unknown) => void }[] = [];
  let isWriting = false;

  async function drain() {
    isWriting = true;
    while (waitingItems.length > 0) {
      const now = waitingItems.slice(0, maxItems);
      waitingItems = waitingItems.slice(maxItems);
      try {
        await write(now.map(({ item }) => item));
        for (const { resolve } of now) resolve();
      } catch (err) {
        for (const { reject } of now) reject(err);
      }
    }
    isWriting = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waitingItems.push({ item, resolve, reject });
      if (!isWriting) void drain();
    });
}
