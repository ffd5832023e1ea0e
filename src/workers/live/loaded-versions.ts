import type { Clock, Log } from "../../kernel/index.ts";
import type { WorkerRuntime } from "../runtime/port.ts";
import type { WorkerScript } from "../scripts/script.ts";
import type { LiveLimits } from "./limits.ts";

/**
 * A version that has been loaded into the runtime. A caller counts as its user from `acquire` to `release`; only
 * versions without users are unloaded.
 */
export interface LoadedVersion {
  readonly key: string;
  readonly versionId: string;
  readonly scriptId: string;
  /** Resolves once the runtime can serve the version. */
  readonly ready: Promise<void>;
}

interface LoadedVersions {
  /** Synchronous, so that nothing runs between picking a version and using it. */
  acquire(version: { key: string; versionId: string; scriptId: string }): LoadedVersion;
  release(loadedVersion: LoadedVersion): void;
  /**
   * Releases the version but keeps it loaded for an open connection, after its replacement only for a short time.
   * `onRetired` is called when the version is replaced. Returns the function to call when the connection ends.
   */
  releaseToConnection(loadedVersion: LoadedVersion, onRetired?: () => void): () => void;
  /**
   * Starts a version that only this caller knows; it counts as acquired, and is exempt from retire(), until `settle`.
   */
  startTrial(worker: WorkerScript, scriptId: string): Promise<{ settle(keepLoaded: boolean): void }>;
  /**
   * Retires the versions of a script whose keys are not in `excludedKeys`: they finish their requests and are unloaded.
   */
  retire(scriptId: string, excludedKeys: ReadonlySet<string>): void;
  /** Scripts with at least one loaded version. */
  scripts(): string[];
  /** Unloads versions that have been idle for a while. */
  unloadIdle(): void;
}

interface Entry extends LoadedVersion {
  users: number;
  /** Open connections whose requests already have a response: WebSockets. */
  connections: number;
  /** Called when the version is replaced. */
  onRetired: Set<() => void>;
  lastUsed: number;
  bytes: number;
  isTrial: boolean;
  retired: boolean;
  isRemoved: boolean;
}

/** How long an open connection may continue after its version was replaced. */
const CONNECTION_GRACE_MS = 30_000;

interface LoadedVersionsOptions {
  runtime: WorkerRuntime;
  load(versionId: string): Promise<{ worker: WorkerScript; size: number }>;
  limits: LiveLimits;
  clock: Clock;
  log: Log;
}

export function createLoadedVersions({ runtime, load, limits, clock, log }: LoadedVersionsOptions): LoadedVersions {
  /** Least recently used first. */
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function add(
    version: { key: string; versionId: string; scriptId: string },
    register: (entry: Entry) => Promise<void>,
    isTrial: boolean,
  ): Entry {
    const entry: Entry = {
      ...version,
      users: 1,
      connections: 0,
      onRetired: new Set(),
      lastUsed: clock.now(),
      bytes: 0,
      isTrial,
      retired: false,
      isRemoved: false,
      ready: Promise.resolve(),
    };
    entries.set(entry.key, entry);
    const ready = register(entry).catch((err: unknown) => {
      remove(entry);
      throw err;
    });
    // Callers that entered the version receive the error; there may be no such callers.
    ready.catch(() => {});
    return Object.assign(entry, { ready });
  }

  async function register(entry: Entry): Promise<void> {
    const { worker, size } = await load(entry.versionId);
    updateSize(entry, size);
    if (entry.isRemoved) return;
    // The worker's revision may have changed since the key was determined.
    await runtime.deploy({ ...worker, key: entry.key }, { start: false });
    // This version has claimed the Durable Objects, although a deploy replaced it while it was being loaded.
    if (entry.retired) claimForDeployed(entry.scriptId);
  }

  function claimForDeployed(scriptId: string) {
    for (const entry of entries.values())
      if (entry.scriptId === scriptId && !entry.isTrial && !entry.retired) runtime.claimObjects(entry.key);
  }

  function updateSize(entry: Entry, size: number) {
    if (entry.isRemoved) return;
    bytes += size - entry.bytes;
    entry.bytes = size;
    evictIdle();
  }

  function evictIdle() {
    if (entries.size <= limits.versions && bytes <= limits.versionBytes) return;
    for (const entry of entries.values()) {
      if (isIdle(entry)) remove(entry);
      if (entries.size <= limits.versions && bytes <= limits.versionBytes) return;
    }
  }

  function remove(entry: Entry) {
    if (entry.isRemoved) return;
    entry.isRemoved = true;
    bytes -= entry.bytes;
    if (entries.get(entry.key) === entry) entries.delete(entry.key);
    runtime
      .remove(entry.key)
      .catch((err: unknown) => log.warn({ err, version: entry.versionId }, "workers: failed to unload a version"));
  }

  function releaseUser(entry: Entry) {
    entry.users--;
    entry.lastUsed = clock.now();
    if (entry.retired) removeSoon(entry);
    else evictIdle();
  }

  function removeSoon(entry: Entry) {
    if (entry.users > 0) return;
    if (entry.connections === 0) return remove(entry);
    setTimeout(() => {
      if (entry.retired && entry.users === 0) remove(entry);
    }, CONNECTION_GRACE_MS).unref();
  }

  return {
    acquire(version) {
      const existingEntry = entries.get(version.key);
      if (existingEntry === undefined) return add(version, register, false);
      existingEntry.users++;
      // Moves the entry to the end of the order.
      entries.delete(existingEntry.key);
      entries.set(existingEntry.key, existingEntry);
      return existingEntry;
    },
    release: (loadedVersion) => releaseUser(loadedVersion as Entry),
    releaseToConnection(loadedVersion, onRetired) {
      const entry = loadedVersion as Entry;
      entry.connections++;
      if (onRetired !== undefined) entry.onRetired.add(onRetired);
      if (entry.retired) onRetired?.();
      releaseUser(entry);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        entry.connections--;
        if (onRetired !== undefined) entry.onRetired.delete(onRetired);
        entry.lastUsed = clock.now();
        if (entry.retired) removeSoon(entry);
      };
    },
    async startTrial(worker, scriptId) {
      const size = worker.modules.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
      const deploy = async (entry: Entry) => {
        updateSize(entry, size);
        await runtime.deploy(worker);
      };
      const entry = add({ key: worker.key!, versionId: worker.version, scriptId }, deploy, true);
      await entry.ready;
      return {
        settle(keepLoaded) {
          entry.isTrial = false;
          if (!keepLoaded) entry.retired = true;
          releaseUser(entry);
        },
      };
    },
    retire(scriptId, excludedKeys) {
      for (const entry of entries.values()) {
        if (entry.scriptId !== scriptId || entry.isTrial) continue;
        entry.retired = !excludedKeys.has(entry.key);
        if (!entry.retired) continue;
        for (const notify of entry.onRetired) notify();
        removeSoon(entry);
      }
      claimForDeployed(scriptId);
    },
    scripts: () => [...new Set([...entries.values()].map(({ scriptId }) => scriptId))],
    unloadIdle() {
      const before = clock.now() - limits.restMs;
      for (const entry of entries.values()) if (isIdle(entry) && entry.lastUsed <= before) remove(entry);
    },
  };
}

const isIdle = ({ users, connections }: Entry) => users === 0 && connections === 0;
