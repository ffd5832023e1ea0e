import { mkdirSync } from "node:fs";
import { messageOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { Metrics } from "../../../kernel/metrics.ts";
import type { Db } from "../../db/port.ts";
import { storeErrors } from "../../errors.ts";
import { createTempFiles } from "../fs/temp.ts";
import { checkKey, checkPrefix } from "../keys.ts";
import { createPartialsTable } from "../partials-table.ts";
import type { ObjectStore } from "../port.ts";
import type { S3Location } from "./address.ts";
import { createS3Client } from "./client.ts";
import { deleteS3Objects } from "./delete.ts";
import { isMissing } from "./errors.ts";
import { leaseDownload } from "./lease.ts";
import { copySource, createS3Multipart, PART_BYTES } from "./multipart.ts";
import { createPartSender } from "./part-sender.ts";
import { createS3Partials } from "./partial.ts";
import { headObject, openS3Object } from "./read.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { createS3Requests } from "./requests.ts";
import { createSpools } from "./spool.ts";
import { sweepS3 } from "./sweep.ts";
import { storeS3File, writeS3Object } from "./write.ts";

interface S3ObjectsOptions {
  location: S3Location;
  /** Stores the progress of partial objects, see `objectsMigrations`. */
  db: Db;
  /** Folder for temporary files; created if missing. */
  scratch: string;
  clock: Pick<Clock, "now">;
  log: Pick<Log, "warn">;
  /** Default: requests are not counted. */
  metrics?: Pick<Metrics, "counter" | "histogram"> | undefined;
  /** Default: the SDK's default chain of environment variables, files and roles. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Size of the parts of partial objects. At least 5 MiB, default 8 MiB. */
  partBytes?: number;
  /** Objects of more than five times this size are copied in parts of this size, at least 5 MiB. Default 1 GiB. */
  copyPartBytes?: number;
  /** Added to this machine's time in signatures. Default 0. */
  clockOffsetMs?: number;
}

export interface S3Objects extends ObjectStore {
  /** Removes abandoned partial objects. Call it at startup and every few hours, in one process. */
  sweep(): Promise<void>;
  close(): void;
}

/** CopyObject copies at most 5 GiB. */
const COPY_PART_BYTES = 1024 ** 3;
const MAX_COPY_PARTS = 5;
/** Servers copy the bytes, which takes longer than other requests. */
const COPY_TIMEOUT = { attemptMs: 120_000, deadlineMs: 180_000 };
const LIST_PAGE = 1000;

/**
 * Opens the objects in an S3 bucket, without a local cache and without sending a request. Readers of an object that is
 * replaced get its previous bytes or StoreError objectChanged.
 */
export async function openS3Objects(options: S3ObjectsOptions): Promise<S3Objects> {
  const { location, db, clock, log, copyPartBytes = COPY_PART_BYTES } = options;
  const temps = prepareScratch(options.scratch);
  await temps.sweep();
  const { sdk, client } = await createS3Client(location, options);
  const requests = createS3Requests(location, { sdk, client }, createRequestMetrics(options.metrics));
  const { at, send } = requests;
  const multipart = createS3Multipart(requests);
  const write = { requests, multipart, parts: createPartSender(), createSpool: createSpools(() => temps.next()) };
  const table = createPartialsTable(db);
  const remove = async (key: string) => {
    try {
      await deleteS3Objects(requests, [key]);
    } catch (err) {
      log.warn({ err, key }, "objects: failed to delete an object; the next sweep will retry");
    }
  };
  const partials = createS3Partials({
    ...write,
    table,
    clock,
    partBytes: options.partBytes ?? PART_BYTES,
    remove,
  });

  return {
    async put(key, body, putOptions = {}) {
      checkKey(key);
      return writeS3Object(write, key, body, putOptions);
    },
    async putFile(key, path) {
      checkKey(key);
      await storeS3File(write, key, path);
    },
    async open(key) {
      checkKey(key);
      return openS3Object(requests, key);
    },
    async copy(from, to) {
      checkKey(from);
      checkKey(to);
      const source = await headObject(requests, from);
      if (source === undefined) throw storeErrors.absent({ key: from });
      if (source.size > MAX_COPY_PARTS * copyPartBytes) return multipart.copyLarge(from, to, source, copyPartBytes);
      // S3 rejects a copy of an object to itself.
      if (from === to) return;
      const command = new sdk.CopyObjectCommand({ ...at(to), CopySource: copySource(requests, from) });
      try {
        await send(to, (s3, sendOptions) => s3.send(command, sendOptions), COPY_TIMEOUT);
      } catch (err) {
        throw isMissing(err) ? storeErrors.absent({ key: from }, { cause: err }) : err;
      }
    },
    async leaseFile(key) {
      checkKey(key);
      const object = await openS3Object(requests, key);
      return object && leaseDownload(object, key, temps.next());
    },
    partial(key) {
      checkKey(key);
      return partials(key);
    },
    async delete(keys) {
      for (const key of keys) checkKey(key);
      await deleteS3Objects(requests, keys);
    },
    async removeEmptyFolders(prefix) {
      checkPrefix(prefix);
    },
    async *list(prefix, after = "") {
      checkPrefix(prefix);
      for (let startAfter = location.prefix + after; ;) {
        const command = new sdk.ListObjectsV2Command({
          Bucket: location.bucket,
          Prefix: location.prefix + prefix,
          ...(startAfter !== "" && { StartAfter: startAfter }),
          MaxKeys: LIST_PAGE,
        });
        const { Contents = [], IsTruncated } = await send(prefix, (s3, sendOptions) => s3.send(command, sendOptions));
        for (const { Key = "", Size = 0, LastModified = new Date(0) } of Contents) {
          const key = Key.slice(location.prefix.length);
          // Keys of internal objects begin with a dot.
          if (!key.startsWith(".")) yield { key, size: Size, modified: LastModified };
        }
        const last = Contents.at(-1)?.Key;
        if (IsTruncated !== true || last === undefined) return;
        startAfter = last;
      }
    },
    sweep: () => sweepS3({ requests, table, multipart, clock, remove }),
    close() {
      client.destroy();
    },
  };
}

function prepareScratch(path: string) {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return createTempFiles(path);
  } catch (err) {
    throw storeErrors.cannotOpen({ path, reason: messageOf(err) }, { cause: err });
  }
}
