import { cancelMove, moveData } from "../backup/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { locationOf } from "./backup.ts";
import { serverErrors } from "./errors.ts";
import { migrations } from "./migrations.ts";

interface MoveServerOptions {
  databaseUrl?: string | undefined;
  /** The new location of the objects: an absolute path, or an `s3://` URL. */
  newObjects?: string | undefined;
  prepareOnly: boolean;
  onProgress?: Parameters<typeof moveData>[0]["onProgress"];
}

/** Moves the data of a server with SQLite, which may be running. Throws BackupError, StoreError, nothingToMove, objectsInBucket. */
export async function moveServer(settings: Settings, options: MoveServerOptions): ReturnType<typeof moveData> {
  const { databaseUrl, newObjects, prepareOnly, onProgress } = options;
  if (settings.database.url !== "") throw serverErrors.movedAlready();
  if (databaseUrl === undefined && newObjects === undefined) throw serverErrors.nothingToMove();
  const { url } = settings.objects;
  if (url !== "") throw serverErrors.objectsInBucket({ url });
  const { dataDirectory, objects } = locationOf(settings);
  return moveData({
    dataDirectory,
    objects,
    target: newObjects,
    database: databaseUrl === undefined ? undefined : { url: databaseUrl, label: withoutUser(databaseUrl) },
    migrations,
    prepareOnly,
    ...(onProgress !== undefined && { onProgress }),
  });
}

export function cancelServerMove(settings: Settings): void {
  cancelMove(locationOf(settings).dataDirectory);
}

const withoutUser = (url: string) => url.replace(/^[^:]*:\/\/(?:[^/]*@)?/, "").replace(/\?.*$/, "");
