import type { Readable } from "node:stream";
import { Fault, randomIds, silentLog, systemClock, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Db, ObjectStore } from "../../../store/index.ts";
import { boundedBytes, checkLimit, checkKeyMetadata, keyBytes } from "./checks.ts";
import { kvErrors } from "./errors.ts";
import { createKvTable, type KvKey, type KvRow } from "./kv-table.ts";
import { createLargeValues } from "./large-values.ts";
import { INLINE_BYTES, kvLimits } from "./limits.ts";
import { createKvSweep, type KvSweepResult, type KvSweepOptions } from "./sweep.ts";

/** Workers KV: values by key, separate for each namespace. Rejects with `kvErrors` like the real service. */
export interface KvStore {
  get(namespace: string, key: string): Promise<KvEntry | undefined>;
  /** Resolves with the whole values of up to 100 keys, at most 25 MiB in total. Absent keys are omitted. */
  getMany(namespace: string, keys: string[]): Promise<Map<string, KvValue>>;
  /** Resolves once the value is on disk. */
  put(
    namespace: string,
    key: string,
    value: Uint8Array | AsyncIterable<Uint8Array>,
    options?: KvPutOptions,
  ): Promise<void>;
  /** Resolves once the deletion is on disk. An absent key is ignored. */
  delete(namespace: string, key: string): Promise<void>;
  /** Keys in UTF-8 byte order. */
  list(namespace: string, options?: KvListOptions): Promise<KvPage>;
  /** Removes up to `limit` arbitrary keys; resolves with the number removed. */
  clear(namespace: string, limit: number): Promise<number>;
  /** Removes expired keys, and values orphaned by crashes, a bounded amount per call. */
  sweep(options?: KvSweepOptions): Promise<KvSweepResult>;
  /** Resolves when all background deletions have finished. */
  close(): Promise<void>;
}

export interface KvEntry {
  value: Uint8Array | Readable;
  /** Bytes. */
  size: number;
  /** JSON. */
  metadata: string | undefined;
  /** Epoch seconds. */
  expiration: number | undefined;
}

type KvValue = Omit<KvEntry, "value" | "size"> & { value: Buffer };

interface KvPutOptions {
  /** JSON, at most 1024 bytes. */
  metadata?: string;
  /** Epoch milliseconds. */
  expiresAt?: number | null;
}

interface KvListOptions {
  prefix?: string;
  /** 1 to 1000, default 1000. */
  limit?: number;
  cursor?: string;
}

interface KvPage {
  keys: { name: string; expiration: number | undefined; metadata: string | undefined }[];
  /** Start of the next page; undefined on the last page. */
  cursor: string | undefined;
}

export interface KvStoreOptions {
  db: Db;
  objects: ObjectStore;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
}

/** Rereads of a row whose object was deleted in between: each one means that the key was written again. */
const MAX_REREADS = 5;

export function createKvStore({
  db,
  objects,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
}: KvStoreOptions): KvStore {
  const table = createKvTable(db);
  const large = createLargeValues({ objects, ids, log });
  const sweep = createKvSweep({ table, objects, large, clock });

  async function load(namespace: string, key: Buffer): Promise<KvEntry | undefined> {
    for (let reads = 0; reads <= MAX_REREADS; reads++) {
      const row = await table.get(namespace, key, clock.now());
      if (!row) return undefined;
      const value = await valueOf(row);
      if (value)
        return { value, size: row.size, metadata: row.metadata ?? undefined, expiration: toSeconds(row.expiresAt) };
    }
    throw new Fault(`a value of KV namespace ${namespace} is not in the object store`);
  }

  const valueOf = async (row: KvRow) => (row.objectKey === null ? row.value! : large.read(row.objectKey));

  async function put(
    namespace: string,
    keyText: string,
    value: Uint8Array | AsyncIterable<Uint8Array>,
    { metadata, expiresAt = null }: KvPutOptions = {},
  ) {
    const key = keyBytes(keyText);
    const row = { namespace, key, expiresAt, metadata: metadata === undefined ? null : checkKeyMetadata(metadata) };
    if (value instanceof Uint8Array && value.length > kvLimits.valueBytes)
      throw kvErrors.valueTooLong({ length: value.length, limit: kvLimits.valueBytes });
    const inlineValue = value instanceof Uint8Array && value.length <= INLINE_BYTES ? value : undefined;
    // A write that fails from here on may still have been committed (if the connection was lost during COMMIT): its
    // object is left to the sweep, which checks the rows.
    const stored = inlineValue
      ? { objectKey: null, size: inlineValue.length }
      : await large.write(namespace, value instanceof Uint8Array ? asIterable(value) : value);
    const replaced = await table.put({ ...row, ...stored, value: inlineValue ?? null });
    if (replaced !== undefined) large.remove([replaced]);
  }

  async function getMany(namespace: string, keys: string[]) {
    if (keys.length > kvLimits.bulkKeys) throw kvErrors.tooManyBulkKeys({ limit: kvLimits.bulkKeys });
    const rows = await table.getMany(namespace, [...new Set(keys)].map(keyBytes), clock.now());
    const total = rows.reduce((sum, { size }) => sum + size, 0);
    if (total > kvLimits.bulkBytes) throw kvErrors.bulkTooLarge({ megabytes: kvLimits.bulkBytes / 1024 / 1024 });
    const foundValues = new Map<string, KvValue>();
    for (const row of rows) {
      const entry =
        row.objectKey === null
          ? { value: row.value!, metadata: row.metadata ?? undefined, expiration: toSeconds(row.expiresAt) }
          : await load(namespace, row.key);
      if (entry)
        foundValues.set(row.key.toString(), {
          value: await collectValue(entry.value),
          metadata: entry.metadata,
          expiration: entry.expiration,
        });
    }
    return foundValues;
  }

  async function list(namespace: string, { prefix = "", limit, cursor }: KvListOptions = {}): Promise<KvPage> {
    const pageLimit = checkLimit(limit);
    const start = boundedBytes(prefix);
    const from =
      cursor === undefined ? start : Buffer.concat([start, decodeCursor(cursor)].sort(Buffer.compare).slice(-1));
    const keys = await table.list(namespace, { from, to: endOf(start) }, pageLimit + 1, clock.now());
    const page = keys.slice(0, pageLimit);
    return { keys: page.map(toListed), cursor: keys.length > pageLimit ? encodeCursor(page.at(-1)!.key) : undefined };
  }

  return {
    get: (namespace, key) => load(namespace, keyBytes(key)),
    getMany,
    put,
    async delete(namespace, key) {
      const objectKey = await table.delete(namespace, keyBytes(key));
      if (objectKey !== undefined) large.remove([objectKey]);
    },
    list,
    async clear(namespace, limit) {
      const { count, objects: orphanedKeys } = await table.deleteSome(namespace, limit);
      large.remove(orphanedKeys);
      return count;
    },
    sweep,
    close: () => large.settled(),
  };
}

const toSeconds = (ms: number | null) => (ms === null ? undefined : ms / 1000);

const toListed = ({ key, expiresAt, metadata }: KvKey) => ({
  name: key.toString(),
  expiration: toSeconds(expiresAt),
  metadata: metadata ?? undefined,
});

/**
 * Returns the end of the range of keys with this prefix. UTF-8 has no byte 0xff, so the last byte can always be
 * incremented.
 */
function endOf(prefix: Buffer): Buffer | undefined {
  if (prefix.length === 0) return undefined;
  const end = Buffer.from(prefix);
  end[end.length - 1]!++;
  return end;
}

// The bytes of the last key plus one byte: the next possible key.
const encodeCursor = (last: Buffer) => Buffer.concat([last, Buffer.of(0)]).toString("base64url");

function decodeCursor(cursor: string): Buffer {
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length === 0 || bytes.length > kvLimits.keyBytes + 1 || bytes.toString("base64url") !== cursor)
    throw kvErrors.badCursor();
  return bytes;
}

async function* asIterable(value: Uint8Array) {
  yield value;
}

async function collectValue(value: Uint8Array | Readable): Promise<Buffer> {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const chunks: Buffer[] = [];
  for await (const chunk of value as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
