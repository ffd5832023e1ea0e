import { join } from "node:path";
import type { Clock, Log } from "../kernel/index.ts";
import type { Db } from "./db/port.ts";
import { openFsObjects } from "./objects/fs/fs.ts";
import type { ObjectStore } from "./objects/port.ts";
import { parseObjectsUrl } from "./objects/s3/address.ts";
import { openS3Objects } from "./objects/s3/s3.ts";

/** Folder in the data directory for temporary files of a bucket. */
export const SCRATCH = "objects-scratch";

/**
 * Opens the objects in a folder, or in the bucket of an `s3://` URL, without a local cache. With a bucket, `db` stores
 * the state of partial objects. Throws StoreError badObjectsUrl.
 */
export async function openObjectsAt(
  place: string,
  { directory, ...deps }: { directory: string; db: Db; clock: Clock; log: Log },
): Promise<{ objects: ObjectStore; close(): void }> {
  if (!place.startsWith("s3:")) return { objects: await openFsObjects({ folder: place }), close: () => {} };
  const remote = await openS3Objects({
    location: parseObjectsUrl(place),
    scratch: join(directory, SCRATCH),
    ...deps,
  });
  return { objects: remote, close: () => remote.close() };
}
