import { existsSync } from "node:fs";
import { checkServerData } from "../backup/index.ts";
import { UserError, type Clock } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { locationOf } from "./backup.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { serverErrors } from "./errors.ts";
import { OBJECT_STORE_ID_KEY, OBJECTS_NAME, SECRETS_KEY_NAME } from "./storage-identity.ts";

interface CheckServerOptions {
  repair: boolean;
  clock: Clock;
  onProgress?: Parameters<typeof checkServerData>[0]["onProgress"];
}

/** Checks the data of a server, which may be running. A repair needs a stopped server: throws dataDirectoryBusy. */
export async function checkServer(settings: Settings, { repair, clock, onProgress }: CheckServerOptions) {
  const location = locationOf(settings);
  if (!existsSync(location.dataDirectory))
    throw serverErrors.dataDirectoryUnusable({ directory: location.dataDirectory, reason: "it does not exist" });
  const lock = tryLock(location.dataDirectory, repair);
  try {
    return await checkServerData({
      ...location,
      secrets: settings.secrets,
      keyMark: { name: SECRETS_KEY_NAME },
      objectsMark: { name: OBJECTS_NAME, object: OBJECT_STORE_ID_KEY },
      now: clock.now(),
      // The lock says nothing about other nodes.
      isRunning: lock === undefined || settings.database.url !== "",
      repair,
      ...(onProgress !== undefined && { onProgress }),
    });
  } finally {
    lock?.release();
  }
}

/** Undefined if a server is running. */
function tryLock(directory: string, isRequired: boolean): { release(): void } | undefined {
  try {
    return lockDataDirectory(directory);
  } catch (err) {
    if (!isRequired && err instanceof UserError && err.kind === "dataDirectoryBusy") return undefined;
    throw err;
  }
}
