import { every } from "../../kernel/periodic.ts";
import { UserError, type Clock, type Log } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptsTables } from "../scripts/schema.ts";
import { createObjectAlarms } from "./alarms.ts";
import { listOwners } from "./namespaces-table.ts";
import type { ObjectTables } from "./schema.ts";
import type { ObjectStorage } from "./storage.ts";

interface RunOptions {
  db: Db;
  storage: ObjectStorage;
  /** Starts the process of a deployed worker. */
  live: { wake(ref: { account: string; script: string; id: string }): Promise<void> };
  clock: Clock;
  log: Log;
}

const SWEEP_INTERVAL_MS = 10 * 60_000;

/**
 * Starts deployed workers when their alarms are due, including after a server restart, and deletes the files of
 * namespaces that no longer exist.
 */
export function runObjects({ db, storage, live, clock, log }: RunOptions): { close(): Promise<void> } {
  const tables = db.tables<ObjectTables & ScriptsTables>();
  const alarms = createObjectAlarms({
    storage,
    async wake({ account = "", name, objects: { owner } }) {
      try {
        // The worker may have been renamed since its alarm was read.
        await live.wake({ account, script: name, id: owner });
        return true;
      } catch (err) {
        if (err instanceof UserError && err.kind === "scriptMissing") return false;
        throw err;
      }
    },
    clock,
    log,
  });
  const sweep = every(
    SWEEP_INTERVAL_MS,
    () =>
      storage.sweep(async () => {
        const owners = await listOwners(tables);
        return new Map(owners.map(({ scriptId, namespaces }) => [scriptId, new Set(namespaces.map(({ id }) => id))]));
      }),
    { name: "durable objects: sweep", log },
  );
  const startup = (async () => {
    const owners = await listOwners(tables);
    alarms.watch(
      owners
        .filter(({ isLive }) => isLive)
        .map(({ scriptId, account, script, namespaces }) => ({
          account,
          name: script,
          objects: { owner: scriptId, namespaces },
        })),
    );
    // A crash may have interrupted the deletion of a namespace's files.
    await sweep.run();
  })().catch((err: unknown) => log.error({ err }, "durable objects: failed to read namespaces; alarms may be delayed"));
  return {
    async close() {
      alarms.close();
      await startup;
      await sweep.stop();
    },
  };
}
