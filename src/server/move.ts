import { cancelMove, moveData } from "../backup/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { locationOf } from "./backup.ts";
import { serverErrors } from "./errors.ts";
import { migrations } from "./migrations.ts";

interface MoveServerOptions {
  databaseUrl?: string | undefined;
  /** An absolute path. */
  objectsDirectory?: string | undefined;
  prepareOnly: boolean;
  onProgress?: Parameters<typeof moveData>[0]["onProgress"];
}

/** Moves the data of a server with SQLite, which may be running. Throws BackupError, StoreError, and nothingToMove. */
export async function moveServer(settings: Settings, options: MoveServerOptions): ReturnType<typeof moveData> {
  const { databaseUrl, objectsDirectory, prepareOnly, onProgress } = options;
  if (settings.database.url !== "") throw serverErrors.movedAlready();
  if (databaseUrl === undefined && objectsDirectory === undefined) throw serverErrors.nothingToMove();
  const { dataDirectory, objects } = locationOf(settings);
  return moveData({
    dataDirectory,
    objects,
    target: objectsDirectory,
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
