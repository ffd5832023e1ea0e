import { randomIds, silentLog, systemClock, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import { createContents } from "./contents.ts";
import { checkBucket, defaultLimits, type R2Limits } from "./limits.ts";
import { listBucketObjects } from "./list.ts";
import type {
  ObjectBody,
  ObjectRange,
  FoundObject,
  GetOptions,
  ListOptions,
  Metadata,
  ObjectPage,
  OpenUpload,
  R2Change,
  R2PutOptions,
  R2Object,
  StorageClass,
  StoredPart,
  UploadedPart,
  UploadListOptions,
  UploadRef,
} from "./object.ts";
import { createMultipart } from "./multipart.ts";
import { createObjects } from "./objects.ts";
import { createObjectTable } from "./r2-table.ts";
import { createRemovedTable } from "./removed-table.ts";
import { createRemoval } from "./removal.ts";
import { createR2Sweep, type R2SweepResult, type R2SweepOptions } from "./sweep.ts";
import { createUploadListTable } from "./upload-list-table.ts";
import { createUploadLists } from "./upload-list.ts";
import { createUploadTable } from "./upload-table.ts";

/**
 * Buckets of objects, used by a worker's R2 binding, the S3 and v4 APIs and the CLI. A bucket need not be created: an
 * absent one is treated as empty. Resolves once the change is on disk. Throws UserErrors of `r2Errors` with the codes
 * and messages of the service.
 */
export interface R2Buckets {
  head(bucket: string, key: string): Promise<R2Object | undefined>;
  /**
   * Resolves with undefined if the key does not exist, and without `body` if `onlyIf` did not hold. Throws
   * invalidRange.
   */
  get(bucket: string, key: string, options?: GetOptions): Promise<FoundObject | undefined>;
  /**
   * Streams the body to the object store; it becomes visible completely or not at all. Throws preconditionFailed,
   * badDigest, incompleteBody, entityTooLarge, metadataTooLarge.
   */
  put(bucket: string, key: string, body: ObjectBody, options?: R2PutOptions): Promise<R2Object>;
  /** Deletes 1 to 1000 keys, all or none; absent keys are ignored. Resolves with the keys that existed. */
  delete(bucket: string, keys: string[]): Promise<string[]>;
  /** Deletes the objects whose current version is in `versions` (1 to 1000), for lifecycle rules. */
  expire(bucket: string, versions: string[]): Promise<void>;
  /** Changes the storage class of the objects whose current version is in `versions` (1 to 1000). */
  changeStorageClass(bucket: string, versions: string[], storageClass: StorageClass): Promise<void>;
  list(bucket: string, options?: ListOptions): Promise<ObjectPage>;

  createUpload(bucket: string, key: string, options?: Metadata): Promise<UploadRef>;
  /** Stores a part; its etag is its MD5. A part replaces an earlier one with the same number. Throws noSuchUpload. */
  uploadPart(
    bucket: string,
    upload: UploadRef,
    partNumber: number,
    body: ObjectBody,
    options?: { size?: number },
  ): Promise<UploadedPart>;
  /**
   * Joins the parts by part number, whatever the order of the list. Throws noSuchUpload, invalidPart, entityTooSmall,
   * unequalParts.
   */
  completeUpload(bucket: string, upload: UploadRef, parts: UploadedPart[]): Promise<R2Object>;
  /**
   * Aborts an upload. Safe to repeat or to call after completion. Throws noSuchUpload for an unknown or forgotten
   * upload.
   */
  abortUpload(bucket: string, upload: UploadRef): Promise<void>;
  /** Lists open uploads in the order of key and upload id. */
  listUploads(bucket: string, options?: UploadListOptions): Promise<{ uploads: OpenUpload[]; more: boolean }>;
  /**
   * Lists the parts of an open upload in the order of their numbers, starting after part `after`. Throws noSuchUpload.
   */
  listParts(
    bucket: string,
    upload: UploadRef,
    options?: { after?: number; limit?: number },
  ): Promise<{ upload: OpenUpload; parts: StoredPart[]; more: boolean }>;
  /**
   * Returns the byte range of a part of an object that was uploaded in parts, and the etag of the object. Any other
   * object has a single part. Resolves with undefined if the key or the part does not exist.
   */
  partRange(
    bucket: string,
    key: string,
    partNumber: number,
  ): Promise<{ etag: string; range: ObjectRange; parts: number | undefined } | undefined>;

  /**
   * Deletes bytes left behind by crashes and aborts abandoned uploads; a bounded amount per call. Call it periodically.
   */
  sweep(options?: R2SweepOptions): Promise<R2SweepResult>;
  /** Resolves when running deletions have finished. */
  close(): Promise<void>;
}

export interface R2Options {
  db: Db;
  objects: ObjectStore;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  limits?: Partial<R2Limits>;
  /**
   * True if bytes are deleted as soon as the last reader in this process has finished (default). Set to false if other
   * processes read the same store: the sweep then deletes the bytes after its `removedGraceMs`, which gives those
   * readers time to finish.
   */
  removeImmediately?: boolean;
  /** Called after a change has been committed and before the operation resolves. Must not reject. */
  onChange?(change: R2Change): Promise<void>;
}

export function createR2Buckets({
  db,
  objects: store,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
  limits: limitOverrides,
  removeImmediately = true,
  onChange = async () => {},
}: R2Options): R2Buckets {
  const limits = { ...defaultLimits, ...limitOverrides };
  const table = createObjectTable(db);
  const uploads = createUploadTable(db);
  const removedTable = createRemovedTable(db);
  const removal = createRemoval({ objects: store, table: removedTable, log, immediate: removeImmediately });
  const contents = createContents({ objects: store, uploads, removal });
  const objects = createObjects({ store, table, contents, removal, clock, ids, limits });
  const multipart = createMultipart({ store, uploads, removal, clock, ids, limits });
  const sweep = createR2Sweep({ store, uploads, removed: removedTable, removal, clock, limits });
  const uploadLists = createUploadLists({ table: createUploadListTable(db), objects: table, limits });

  /** Every call takes a bucket name, which becomes part of the object store keys. */
  const withBucket =
    <Args extends unknown[], Result>(work: (bucket: string, ...args: Args) => Promise<Result>) =>
    async (bucket: string, ...args: Args): Promise<Result> => {
      checkBucket(bucket);
      return work(bucket, ...args);
    };

  async function notifyDeleted(bucket: string, action: R2Change["action"], keys: string[]): Promise<void> {
    if (keys.length > 0) await onChange({ action, bucket, objects: keys.map((key) => ({ key })) });
  }

  return {
    head: withBucket(objects.head),
    get: withBucket(objects.get),
    put: withBucket(async (bucket, key: string, body: ObjectBody, options: R2PutOptions = {}) => {
      const object = await objects.put(bucket, key, body, options);
      const { copiedFrom } = options;
      await onChange({
        action: copiedFrom === undefined ? "PutObject" : "CopyObject",
        bucket,
        objects: [object],
        ...(copiedFrom && { copiedFrom }),
      });
      return object;
    }),
    delete: withBucket(async (bucket, keys: string[]) => {
      const removedKeys: string[] = [];
      for await (const batch of objects.remove(bucket, keys)) {
        removedKeys.push(...batch);
        await notifyDeleted(bucket, "DeleteObject", batch);
      }
      return removedKeys;
    }),
    expire: withBucket(async (bucket, versions: string[]) => {
      for await (const batch of objects.removeVersions(bucket, versions))
        await notifyDeleted(bucket, "LifecycleDeletion", batch);
    }),
    changeStorageClass: withBucket(table.changeStorageClass),
    list: withBucket((bucket, options: ListOptions = {}) => listBucketObjects(table, limits, bucket, options)),
    createUpload: withBucket(multipart.create),
    uploadPart: withBucket(multipart.putPart),
    completeUpload: withBucket(async (bucket, upload: UploadRef, parts: UploadedPart[]) => {
      const object = await multipart.complete(bucket, upload, parts);
      await onChange({ action: "CompleteMultipartUpload", bucket, objects: [object] });
      return object;
    }),
    abortUpload: withBucket(multipart.abort),
    listUploads: withBucket(uploadLists.uploads),
    listParts: withBucket(uploadLists.parts),
    partRange: withBucket(uploadLists.partRange),
    sweep,
    close: () => removal.settled(),
  };
}
