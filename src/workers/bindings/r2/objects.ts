import { Fault, UserError, type Clock, type Ids } from "../../../kernel/index.ts";
import type { ObjectStore, StoredObject } from "../../../store/index.ts";
import { withSizeLimit } from "./body.ts";
import { conditionsHold } from "./conditions.ts";
import type { createContents } from "./contents.ts";
import { r2Errors } from "./errors.ts";
import { checkObjectName, checkObjectMetadata, type R2Limits } from "./limits.ts";
import type {
  ObjectBody,
  ChecksumAlgorithm,
  Checksums,
  FoundObject,
  GetOptions,
  R2PutOptions,
  R2Object,
} from "./object.ts";
import type { ObjectTable } from "./r2-table.ts";
import { resolveRange } from "./range.ts";
import { blobKey, type Removal } from "./removal.ts";
import { inBatches } from "./removed-table.ts";
import { r2Object, storedMetadata } from "./rows.ts";
import type { ObjectRow } from "./schema.ts";

/** Number of plain objects deleted in one transaction, during which a process that uses SQLite does nothing else. */
const REMOVAL_BATCH = 250;
/** How often a get restarts because the object was replaced between reading its row and its bytes. */
const ATTEMPTS = 10;

interface ObjectDeps {
  store: ObjectStore;
  table: ObjectTable;
  contents: ReturnType<typeof createContents>;
  removal: Removal;
  clock: Clock;
  ids: Ids;
  limits: R2Limits;
}

/** Creates the operations on single objects of a bucket. */
export function createObjects({ store, table, contents, removal, clock, ids, limits }: ObjectDeps) {
  async function head(bucket: string, key: string): Promise<R2Object | undefined> {
    checkObjectName(key, limits);
    const row = await table.find(bucket, key);
    return row && r2Object(row);
  }

  async function get(
    bucket: string,
    key: string,
    { onlyIf, range: wanted }: GetOptions = {},
  ): Promise<FoundObject | undefined> {
    checkObjectName(key, limits);
    let missingVersion: string | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await table.find(bucket, key);
      if (!row) return undefined;
      if (onlyIf && !conditionsHold(onlyIf, row))
        return { object: r2Object(row), range: { offset: 0, length: row.size } };
      const range = resolveRange(wanted, row.size);
      const body = await contents.open(row, range);
      if (body) return { object: r2Object(row), range, body };
      if (row.version === missingVersion)
        throw new Fault(`the bytes of r2 object ${bucket}/${key}, version ${missingVersion}, are missing`);
      missingVersion = row.version;
    }
    throw r2Errors.unavailable();
  }

  async function put(bucket: string, key: string, body: ObjectBody, options: R2PutOptions = {}): Promise<R2Object> {
    checkObjectName(key, limits);
    checkObjectMetadata(options, limits);
    const current = await table.find(bucket, key);
    allow(options, current);

    const version = ids.hex();
    const givenAlgorithms = (Object.keys(options.checksums ?? {}) as ChecksumAlgorithm[]).filter(
      (algorithm) => options.checksums![algorithm] !== undefined,
    );
    const stored = await store.put(
      blobKey(bucket, version),
      withSizeLimit(body, { size: options.size, most: limits.uploadBytes }),
      {
        digests: ["md5", ...givenAlgorithms.filter((algorithm) => algorithm !== "md5" && algorithm !== "sha256")] as (
          | "md5"
          | "sha1"
          | "sha384"
          | "sha512"
        )[],
      },
    );
    try {
      const checksums = verifyChecksums(stored, options.checksums ?? {}, givenAlgorithms);
      const row: ObjectRow = {
        bucket,
        key,
        version,
        checksums: JSON.stringify(checksums),
        ...storedMetadata(options),
        size: stored.size,
        etag: checksums.md5!,
        uploaded: clock.now(),
        upload_id: null,
        part_size: null,
      };
      if (!(await writeSingle(row, current))) removal.enqueue(await table.replace(row, (now) => allow(options, now)));
      return r2Object(row);
    } catch (err) {
      // Discards the bytes only if this code rejected the write: after a failed commit the outcome is unknown, and a
      // row without bytes is worse than bytes without a row.
      if (err instanceof UserError && err.domain === "r2") await removal.discard(bucket, version);
      throw err;
    }
  }

  /**
   * Handles the common cases without a transaction, so that such writes share commits. Resolves with false if the key
   * was written concurrently.
   */
  async function writeSingle(row: ObjectRow, current: ObjectRow | undefined): Promise<boolean> {
    if (!current) return table.insert(row);
    if (current.upload_id !== null || !removal.immediate || !(await table.swap(row, current.version))) return false;
    removal.enqueue([{ bucket: row.bucket, owner: current.version, multipart: false }]);
    return true;
  }

  /**
   * Deletes in batches, each in its own transaction, so that a deletion does not block the process. After a crash, some
   * batches may not have been deleted. Yields the removed keys of each batch.
   */
  async function* remove(bucket: string, keys: string[]): AsyncGenerator<string[]> {
    if (keys.length < 1 || keys.length > limits.deleteKeys) throw r2Errors.invalidKeyCount();
    for (const key of keys) checkObjectName(key, limits);
    const removedAlone = keys.length === 1 ? await removeSingle(bucket, keys[0]!) : undefined;
    if (removedAlone === undefined) yield* removeBy("key", bucket, [...new Set(keys)]);
    else yield removedAlone;
  }

  async function* removeBy(by: "key" | "version", bucket: string, values: string[]): AsyncGenerator<string[]> {
    for (const batch of inBatches(values, REMOVAL_BATCH)) {
      yield await removeBatch(by, bucket, batch, "plain");
      // Deleting an object with many parts affects up to 10,000 rows.
      for (const value of await table.multipartAmong(bucket, by, batch))
        yield await removeBatch(by, bucket, [value], "any");
    }
  }

  async function removeBatch(by: "key" | "version", bucket: string, values: string[], which: "plain" | "any") {
    const { keys, removed } = await table.remove(bucket, by, values, which, clock.now());
    removal.enqueue(removed);
    return keys;
  }

  /** Like writeSingle(). Resolves with the removed keys, or with undefined if the key was written concurrently. */
  async function removeSingle(bucket: string, key: string): Promise<string[] | undefined> {
    const current = await table.find(bucket, key);
    if (!current) return [];
    if (current.upload_id !== null || !removal.immediate || !(await table.drop(current))) return undefined;
    removal.enqueue([{ bucket, owner: current.version, multipart: false }]);
    return [key];
  }

  const removeVersions = (bucket: string, versions: string[]) => removeBy("version", bucket, versions);

  return { head, get, put, remove, removeVersions };
}

function allow({ onlyIf }: R2PutOptions, current: ObjectRow | undefined) {
  if (onlyIf && !conditionsHold(onlyIf, current)) throw r2Errors.preconditionFailed();
}

const names: Record<ChecksumAlgorithm, string> = {
  md5: "MD5",
  sha1: "SHA-1",
  sha256: "SHA-256",
  sha384: "SHA-384",
  sha512: "SHA-512",
};

/** Returns the MD5 and all given checksums, as computed while the bytes are written to the store. Throws badDigest. */
function verifyChecksums(stored: StoredObject, wanted: Checksums, givenAlgorithms: ChecksumAlgorithm[]): Checksums {
  const computed: Checksums = { md5: stored.digests.md5!, sha256: stored.sha256, ...stored.digests };
  for (const algorithm of givenAlgorithms) {
    const actual = computed[algorithm]!;
    if (wanted[algorithm]!.toLowerCase() !== actual)
      throw r2Errors.badDigest({ algorithm: names[algorithm], given: wanted[algorithm], actual });
  }
  return Object.fromEntries(["md5" as const, ...givenAlgorithms].map((algorithm) => [algorithm, computed[algorithm]]));
}
