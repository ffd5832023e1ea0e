import { messageOf, UserError, type Clock, type Log } from "../../../kernel/index.ts";
import { checkMetadata, expiryOf, keyBytes } from "./checks.ts";
import { kvErrors } from "./errors.ts";
import type { KvStore } from "./kv-store.ts";
import { INLINE_BYTES, kvLimits } from "./limits.ts";

/** One pair of a bulk write, as a client sent it. */
export interface BulkPair {
  key: string;
  value: string;
  /** The value is base64 of what is to be stored. */
  base64?: boolean;
  metadata?: unknown;
  /** Epoch seconds. */
  expiration?: number;
  /** Seconds; wins over `expiration`. */
  expiration_ttl?: number;
}

export interface BulkDone {
  /** How many of the given keys are done. */
  successful: number;
  /** Not done: to be tried again. */
  unsuccessful: string[];
}

/** Writes that wait at the same moment share a commit; so many go together. */
const TOGETHER = 500;
/** Large values are files of their own, each of which takes a descriptor and a buffer. */
const LARGE_TOGETHER = 8;

interface Pair {
  key: string;
  value: Buffer;
  options: { expiresAt: number | null; metadata?: string };
}

export interface KvBulk {
  /**
   * Writes many pairs. One that cannot be accepted refuses all of them before the first is written (badBulkPair, tooManyPairs); of the same
   * key given twice the last counts. What fails for another reason afterwards is told by key; when nothing was written, its error is thrown.
   */
  put(namespace: string, pairs: BulkPair[]): Promise<BulkDone>;
  /** Removes many keys; absent ones are fine. As put(). */
  delete(namespace: string, keys: string[]): Promise<BulkDone>;
}

export function createKvBulk({ store, clock, log }: { store: KvStore; clock: Clock; log: Log }): KvBulk {
  return {
    async put(namespace, pairs) {
      if (pairs.length > kvLimits.bulkPairs) throw kvErrors.tooManyPairs({ limit: kvLimits.bulkPairs });
      const now = clock.now();
      const last = [...new Map(pairs.map((pair, index) => [pair.key, checked(pair, index, now)])).values()];
      const write = ({ key, value, options }: Pair) => store.put(namespace, key, value, options);
      const small = await each(
        last.filter(({ value }) => value.length <= INLINE_BYTES),
        TOGETHER,
        write,
      );
      const large = await each(
        last.filter(({ value }) => value.length > INLINE_BYTES),
        LARGE_TOGETHER,
        write,
      );
      return done(
        pairs.map(({ key }) => key),
        new Map([...small, ...large]),
        log,
      );
    },
    async delete(namespace, keys) {
      if (keys.length > kvLimits.bulkPairs) throw kvErrors.tooManyPairs({ limit: kvLimits.bulkPairs });
      keys.forEach((key, index) => refusedAt(index, key, () => keyBytes(key)));
      return done(
        keys,
        await each(
          [...new Set(keys)].map((key) => ({ key })),
          TOGETHER,
          ({ key }) => store.delete(namespace, key),
        ),
        log,
      );
    },
  };
}

function checked(
  { key, value, base64 = false, metadata, expiration, expiration_ttl: ttl }: BulkPair,
  index: number,
  now: number,
): Pair {
  return refusedAt(index, key, () => {
    keyBytes(key);
    const bytes = Buffer.from(value, base64 ? "base64" : "utf8");
    if (base64 && !isBase64(value))
      throw kvErrors.badBulkPair({ index, key: JSON.stringify(key), reason: "its value is not base64" });
    if (bytes.length > kvLimits.valueBytes)
      throw kvErrors.valueTooLong({ length: bytes.length, limit: kvLimits.valueBytes });
    const expiresAt = expiryOf({ expiration: expiration?.toString(), ttl: ttl?.toString() }, now);
    return {
      key,
      value: bytes,
      options: { expiresAt, ...(metadata != null && { metadata: checkMetadata(JSON.stringify(metadata)) }) },
    };
  });
}

/** Line breaks and a missing padding are let pass: encoders differ in both. */
const isBase64 = (text: string) => /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text);

function refusedAt<Result>(index: number, key: string, check: () => Result): Result {
  try {
    return check();
  } catch (err) {
    if (!(err instanceof UserError) || err.kind === "badBulkPair") throw err;
    throw kvErrors.badBulkPair({ index, key: JSON.stringify(key.slice(0, 100)), reason: err.message }, { cause: err });
  }
}

/** The keys for which `work` failed. */
async function each<Item extends { key: string }>(
  items: Item[],
  together: number,
  work: (item: Item) => Promise<void>,
): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  for (let start = 0; start < items.length; start += together) {
    const round = items.slice(start, start + together);
    for (const [index, result] of (await Promise.allSettled(round.map(work))).entries()) {
      if (result.status === "rejected") failed.set(round[index]!.key, result.reason);
    }
  }
  return failed;
}

function done(keys: string[], failed: Map<string, unknown>, log: Log): BulkDone {
  const unsuccessful = keys.filter((key) => failed.has(key));
  const [reason] = failed.values();
  // The client learns more from "no space left" than from a list of all it sent.
  if (unsuccessful.length === keys.length && keys.length > 0) throw reason;
  if (reason !== undefined)
    log.error({ err: reason, keys: failed.size }, `kv: part of a bulk request failed: ${messageOf(reason)}`);
  return { successful: keys.length - unsuccessful.length, unsuccessful: [...new Set(unsuccessful)] };
}
