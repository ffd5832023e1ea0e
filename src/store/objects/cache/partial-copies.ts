import type { PartialObject } from "../port.ts";
import type { CacheWriter } from "./files.ts";

/** Local copies of partial objects while they grow, so that their first reader need not download them. */
interface PartialCopies {
  /** Wraps a partial object so that its bytes are also copied. */
  copying(key: string, partial: PartialObject): PartialObject;
}

interface PartialCopiesOptions {
  /** Creates an unfinished file of the cache; undefined if the cache cannot be used. */
  create(): CacheWriter | undefined;
  /** The object is complete, or may be after an error. `copy` has all its bytes, or is undefined. */
  onCompleted(key: string, copy: CacheWriter | undefined): Promise<void>;
  onFailure(err: unknown): void;
  /** Maximum bytes of all copies. The least recently extended ones are deleted first. */
  maxBytes: number;
}

/** Each unfinished copy is an open file. */
const MAX_COPIES = 32;

/**
 * A copy has exactly the bytes that this process has appended so far. If another process has appended some, or the store
 * has not kept all of them, the offset of the next append differs from the size of the copy, which is then deleted.
 */
export function createPartialCopies({ create, onCompleted, onFailure, maxBytes }: PartialCopiesOptions): PartialCopies {
  /** Least recently extended first. An append takes its copy out of the map, so that no other one extends it. */
  const idle = new Map<string, CacheWriter>();
  const extended = new Set<CacheWriter>();

  function take(key: string): CacheWriter | undefined {
    const copy = idle.get(key);
    idle.delete(key);
    return copy;
  }

  function usedBytes(): number {
    let bytes = 0;
    for (const copy of [...idle.values(), ...extended]) bytes += copy.size;
    return bytes;
  }

  /** Evicts other copies until there is space for `bytes` more; returns false if that is not enough. */
  function makeSpace(bytes: number): boolean {
    for (const [key, copy] of idle) {
      if (idle.size + extended.size <= MAX_COPIES && usedBytes() + bytes <= maxBytes) return true;
      idle.delete(key);
      copy.abort();
    }
    return extended.size <= MAX_COPIES && usedBytes() + bytes <= maxBytes;
  }

  /** Returns the copy that ends at `offset`, or a new one for a new object. */
  function copyFor(key: string, offset: number): CacheWriter | undefined {
    const copy = take(key);
    if (copy?.size === offset) return copy;
    copy?.abort();
    return offset === 0 && makeSpace(0) ? create() : undefined;
  }

  async function append(partial: PartialObject, key: string, offset: number, body: AsyncIterable<Uint8Array>) {
    let copy = copyFor(key, offset);
    if (copy === undefined) return partial.append(offset, body);
    extended.add(copy);
    const stopCopying = () => {
      if (copy === undefined) return;
      extended.delete(copy);
      copy.abort();
      copy = undefined;
    };
    let sourceError: unknown;
    async function* copying() {
      try {
        for await (const bytes of body) {
          if (copy !== undefined && !makeSpace(bytes.length)) stopCopying();
          await copy?.write(bytes).catch((err: unknown) => {
            onFailure(err);
            stopCopying();
          });
          yield bytes;
        }
      } catch (err) {
        sourceError = err;
        throw err;
      }
    }
    try {
      const size = await partial.append(offset, copying());
      if (copy?.size !== size) stopCopying();
      return size;
    } catch (err) {
      // The store keeps the bytes before an error of the source.
      if (err !== sourceError) stopCopying();
      throw err;
    } finally {
      if (copy !== undefined) {
        extended.delete(copy);
        idle.get(key)?.abort();
        idle.set(key, copy);
      }
    }
  }

  return {
    copying: (key, partial) => ({
      size: () => partial.size(),
      append: (offset, body) => append(partial, key, offset, body),
      async complete(size) {
        const copy = take(key);
        let isCompleted = false;
        try {
          await partial.complete(size);
          isCompleted = true;
        } finally {
          await onCompleted(key, isCompleted && copy?.size === size ? copy : undefined);
          copy?.abort();
        }
      },
      async discard() {
        take(key)?.abort();
        await partial.discard();
      },
    }),
  };
}
