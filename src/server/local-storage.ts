import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { prepareDataDirectory } from "../dev/index.ts";
import {
  createLifecycle,
  HTTP_SERVER_OPTIONS,
  listen,
  randomIds,
  silentLog,
  UserError,
  type Basics,
  type Clock,
} from "../kernel/index.ts";
import { openStore } from "../store/index.ts";
import { createBindings } from "../workers/index.ts";
import { lockDataDirectory, lockOwner } from "./data-lock.ts";
import { DEV_ACCOUNT } from "./dev-account.ts";
import { createDevApi } from "./dev-api.ts";
import { serverErrors } from "./errors.ts";
import { migrations } from "./migrations.ts";
import { readAnnouncement, withdrawStorage, type StorageAnnouncement } from "./storage-announcement.ts";

/** Serves the storage of `reelpost dev` through the v4 API. */
export interface LocalStorage extends StorageAnnouncement {
  /** The account id in the API's paths. */
  account: string;
  close(): Promise<void>;
}

interface LocalStorageOptions {
  /** Created if necessary. */
  dataDir: string;
  clock: Clock;
  /** Maximum wait for a process that has locked the directory but serves no storage API. Default 10 s. */
  lockTimeoutMs?: number;
}

const RETRY_MS = 50;

/**
 * Resolves with the API of the development server that uses the data directory. If there is none, locks the directory
 * and serves the API from this process. Rejects with `localStorageBusy` if another process keeps the directory locked,
 * such as a production server or a long-running command.
 */
export async function openLocalStorage({
  dataDir,
  clock,
  lockTimeoutMs = 10_000,
}: LocalStorageOptions): Promise<LocalStorage> {
  prepareDataDirectory(dataDir);
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    const lock = tryLock(dataDir);
    if (lock !== undefined) return serveStorage(dataDir, lock, clock);
    const announcement = readAnnouncement(dataDir);
    if (announcement !== undefined) return { ...announcement, account: DEV_ACCOUNT, close: async () => {} };
    if (performance.now() > deadline)
      throw serverErrors.localStorageBusy({ directory: dataDir, pid: lockOwner(dataDir) });
    await sleep(RETRY_MS);
  }
}

/** Returns the API of the development server that uses the data directory; undefined if none is running. */
export function findDevServer(dataDir: string): (StorageAnnouncement & Pick<LocalStorage, "account">) | undefined {
  const announcement = readAnnouncement(dataDir);
  return announcement && { ...announcement, account: DEV_ACCOUNT };
}

function tryLock(dataDir: string): { release(): void } | undefined {
  try {
    return lockDataDirectory(dataDir);
  } catch (err) {
    if (err instanceof UserError && err.kind === "dataDirectoryBusy") return undefined;
    throw err;
  }
}

async function serveStorage(dataDir: string, lock: { release(): void }, clock: Clock): Promise<LocalStorage> {
  const log = silentLog;
  const lifecycle = createLifecycle({ log });
  const basics: Basics = { clock, ids: randomIds, log, lifecycle };
  lifecycle.onStop("lock", lock.release);
  try {
    withdrawStorage(dataDir);
    const store = await openStore(dataDir, { migrations }, basics);
    const bindings = createBindings(store, dataDir, basics, { createQueues: true, unlisted: true });
    const storage = await createDevApi({ bindings, dataDir }, basics);
    const server = createServer(HTTP_SERVER_OPTIONS, (request, response) => {
      storage.handle(request, response).catch(() => response.destroy());
    });
    const { url } = await listen(server, { host: "127.0.0.1", port: 0 });
    lifecycle.onStop("http", async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    });
    return { ...storage.announcementAt(url), account: DEV_ACCOUNT, close: () => lifecycle.stop() };
  } catch (err) {
    await lifecycle.stop();
    throw err;
  }
}
