import { createHash } from "node:crypto";
import type { ObjectStore } from "./port.ts";

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export const keysOf = async (store: ObjectStore, prefix = "", after?: string) =>
  (await all(store.list(prefix, after))).map(({ key }) => key);

/** Returns the bytes of an object, or undefined if it is missing. */
export const read = async (store: ObjectStore, key: string) => (await store.open(key))?.bytes();

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Yields the bytes in chunks of `size`; the last one may be smaller. */
export async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
