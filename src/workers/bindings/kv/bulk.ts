import { messageOf, UserError, type Clock, type Log } from "../../../kernel/index.ts";
import { checkKeyMetadata, expiryOf, keyBytes } from "./checks.ts";
import { kvErrors } from "./errors.ts";
import type { KvStore } from "./kv-store.ts";
import { INLINE_BYTES, kvLimits } from "./limits.ts";

/** One pair of a bulk write, as sent by the client. */
interface BulkPair {
  key: string;
  value: string;
  /** True if the value is base64 encoded. */
  base64?: boolean;
  metadata?: unknown;
  /** Epoch seconds. */
  expiration?: number;
  /** Seconds; takes precedence over `expiration`. */
  expiration_ttl?: number;
}

interface BulkResult {
  /** Number of keys that succeeded. */
  successful: number;
  /** Keys that failed and should be retried. */
  unsuccessful: string[];
}

/** Maximum number of concurrent writes: they share a commit. */
const MAX_CONCURRENT = 500;
/** Large values are separate files; each needs a descriptor and a buffer. */
const MAX_CONCURRENT_LARGE = 8;

interface Pair {
  key: string;
  value: Buffer;
  options: { expiresAt: number | null; metadata?: string };
}

export interface KvBulk {
  /**
   * Writes many pairs. An invalid pair rejects all of them before the first write (badBulkPair, tooManyPairs); for
   * duplicate keys the last pair wins. Later failures are reported by key; if nothing was written, the error is thrown.
   */
  put(namespace: string, pairs: BulkPair[]): Promise<BulkResult>;
  /** Deletes many keys; absent keys are ignored. Errors as for put(). */
  delete(namespace: string, keys: string[]): Promise<BulkResult>;
}

export function createKvBulk({ store, clock, log }: { store: KvStore; clock: Clock; log: Log }): KvBulk {
  return {
    async put(namespace, pairs) {
      if (pairs.length > kvLimits.bulkPairs) throw kvErrors.tooManyPairs({ limit: kvLimits.bulkPairs });
      const now = clock.now();
      const last = [...new Map(pairs.map((pair, index) => [pair.key, checkPair(pair, index, now)])).values()];
      const write = ({ key, value, options }: Pair) => store.put(namespace, key, value, options);
      const smallFailures = await runInBatches(
        last.filter(({ value }) => value.length <= INLINE_BYTES),
        MAX_CONCURRENT,
        write,
      );
      const largeFailures = await runInBatches(
        last.filter(({ value }) => value.length > INLINE_BYTES),
        MAX_CONCURRENT_LARGE,
        write,
      );
      return bulkResult(
        pairs.map(({ key }) => key),
        new Map([...smallFailures, ...largeFailures]),
        log,
      );
    },
    async delete(namespace, keys) {
      if (keys.length > kvLimits.bulkPairs) throw kvErrors.tooManyPairs({ limit: kvLimits.bulkPairs });
      keys.forEach((key, index) => withPairIndex(index, key, () => keyBytes(key)));
      return bulkResult(
        keys,
        await runInBatches(
          [...new Set(keys)].map((key) => ({ key })),
          MAX_CONCURRENT,
          ({ key }) => store.delete(namespace, key),
        ),
        log,
      );
    },
  };
}

function checkPair(
  { key, value, base64 = false, metadata, expiration, expiration_ttl: ttl }: BulkPair,
  index: number,
  now: number,
): Pair {
  return withPairIndex(index, key, () => {
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
      options: { expiresAt, ...(metadata != null && { metadata: checkKeyMetadata(JSON.stringify(metadata)) }) },
    };
  });
}

/** Accepts line breaks and missing padding: encoders differ in both. */
const isBase64 = (text: string) => /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text);

function withPairIndex<Result>(index: number, key: string, check: () => Result): Result {
  try {
    return check();
  } catch (err) {
    if (!(err instanceof UserError) || err.kind === "badBulkPair") throw err;
    throw kvErrors.badBulkPair({ index, key: JSON.stringify(key.slice(0, 100)), reason: err.message }, { cause: err });
  }
}

/** Resolves with the keys for which `work` failed. */
async function runInBatches<Item extends { key: string }>(
  items: Item[],
  batchSize: number,
  work: (item: Item) => Promise<void>,
): Promise<Map<string, unknown>> {
  const failureByKey = new Map<string, unknown>();
  for (let start = 0; start < items.length; start += batchSize) {
    const round = items.slice(start, start + batchSize);
    for (const [index, result] of (await Promise.allSettled(round.map(work))).entries()) {
      if (result.status === "rejected") failureByKey.set(round[index]!.key, result.reason);
    }
  }
  return failureByKey;
}

function bulkResult(keys: string[], failureByKey: Map<string, unknown>, log: Log): BulkResult {
  const unsuccessful = keys.filter((key) => failureByKey.has(key));
  const [reason] = failureByKey.values();
  // "No space left" is more useful to the client than a list of all its keys.
  if (unsuccessful.length === keys.length && keys.length > 0) throw reason;
  if (reason !== undefined)
    log.error({ err: reason, keys: failureByKey.size }, `kv: part of a bulk request failed: ${messageOf(reason)}`);
  return { successful: keys.length - unsuccessful.length, unsuccessful: [...new Set(unsuccessful)] };
}
