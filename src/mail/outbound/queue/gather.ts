/**
 * Batches concurrent calls: items that arrive during a write wait and form the next batch. `write` gets all items of a
 * batch, and its result applies to all of them. At most `most` items per batch.
 */
export function createBatcher<Item>(
  write: (items: Item[]) => Promise<void>,
  most: number,
): (item: Item) => Promise<void> {
  let waiting: { item: Item; resolve: () => void; reject: (err: unknown) => void }[] = [];
  let writing = false;

  async function drain() {
    writing = true;
    while (waiting.length > 0) {
      const now = waiting.slice(0, most);
      waiting = waiting.slice(most);
      try {
        await write(now.map(({ item }) => item));
        for (const { resolve } of now) resolve();
      } catch (err) {
        for (const { reject } of now) reject(err);
      }
    }
    writing = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!writing) void drain();
    });
}
