import {
  messageOf,
  randomIds,
  silentLog,
  systemClock,
  type Clock,
  type Ids,
  type Log,
  type Page,
  type PageRequest,
} from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { createTtlCache } from "../recently-seen.ts";
import type { D1Databases } from "./port.ts";
import { d1Errors } from "./errors.ts";
import { createDatabaseListTable, type DatabaseRow } from "./list-table.ts";

/** The D1 databases of accounts. Throws UserErrors of `d1Errors`; resolves once the change is on disk. */
export interface D1DatabaseList {
  /** Throws nameTaken, badName, tooManyDatabases, idTaken. The first query creates the file. */
  create(account: string, newDatabase: NewD1Database): Promise<D1Database>;
  /** Lists databases by name; `name` filters by names that contain it, ignoring case. */
  list(account: string, page: PageRequest, name?: string): Promise<Page<D1Database>>;
  /** Finds a database by id, else by name. Throws databaseNotFound. */
  get(account: string, idOrName: string): Promise<D1Database>;
  /** Stores and returns the mode; there is one copy of a database either way. Throws databaseNotFound. */
  changeReadReplication(account: string, id: string, mode: D1Database["readReplication"]): Promise<D1Database>;
  /**
   * Resolves when the database is deleted for all callers. Its file is deleted too, at the latest by `sweep()`. Throws
   * databaseNotFound.
   */
  delete(account: string, id: string): Promise<void>;
  /** Used when creating a binding to the database. */
  exists(account: string, id: string): Promise<boolean>;
  /**
   * Like exists(), for a worker that is already bound: checked on every call, so a deletion on another machine may be
   * seen a few seconds late.
   */
  isLive(account: string, id: string): boolean | Promise<boolean>;
  /**
   * Removes the files of deleted databases. Call it at startup and periodically, in the process that owns the files.
   */
  sweep(): Promise<void>;
}

interface NewD1Database {
  /** UUID. Default: a random one. */
  id?: string;
  name: string;
  readReplication?: D1Database["readReplication"];
  jurisdiction?: string;
  locationHint?: string;
}

export interface D1Database {
  /** UUID. */
  id: string;
  name: string;
  createdAt: Date;
  readReplication: "auto" | "disabled";
  jurisdiction: string | null;
  locationHint: string | null;
}

interface D1DatabaseListOptions {
  db: Db;
  /** Present in the process that owns the files. If absent, another process owns and sweeps them. */
  databases?: Pick<D1Databases, "delete">;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  /** Per account. Default 50,000. */
  maxDatabases?: number;
}

/** Number of deleted databases read per query. */
const BATCH = 100;
/** How long to check whether the file of a deleted database exists again: a running query may have recreated it. */
const REMOVED_RETENTION_MS = 3600_000;
/** How long a response waits for the file of a deleted database to be removed: an import may be using it. */
const REMOVAL_MS = 2_000;
const MAX_NAME_LENGTH = 128;
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const UUID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createD1DatabaseList({
  db,
  databases,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
  maxDatabases = 50_000,
}: D1DatabaseListOptions): D1DatabaseList {
  const table = createDatabaseListTable(db);
  const liveDatabases = createTtlCache<string>(clock);

  async function find(account: string, id: string): Promise<DatabaseRow | undefined> {
    const row = UUID_PATTERN.test(id) ? await table.find(id) : undefined;
    return row?.account === account ? row : undefined;
  }

  async function get(account: string, idOrName: string): Promise<D1Database> {
    const row =
      (await find(account, idOrName)) ??
      (NAME_PATTERN.test(idOrName) ? await table.findByName(account, idOrName) : undefined);
    if (!row) throw d1Errors.databaseNotFound({ id: idOrName });
    return show(row);
  }

  async function check(account: string, id: string): Promise<boolean> {
    const isFound = (await find(account, id)) !== undefined;
    if (isFound) liveDatabases.add(id, account);
    return isFound;
  }

  return {
    async create(
      account,
      { id = ids.uuid(), name, readReplication = "disabled", jurisdiction = null, locationHint = null },
    ) {
      if (name.length > MAX_NAME_LENGTH || !NAME_PATTERN.test(name))
        throw d1Errors.badName({ name: JSON.stringify(name.slice(0, MAX_NAME_LENGTH)), longest: MAX_NAME_LENGTH });
      const row: DatabaseRow = {
        id,
        account,
        name,
        createdAt: clock.now(),
        readReplication,
        jurisdiction,
        locationHint,
      };
      const outcome = await table.create(row, maxDatabases);
      if (outcome === "name taken") throw d1Errors.nameTaken({ name });
      if (outcome === "id taken") throw d1Errors.idTaken({ id });
      if (outcome === "too many") throw d1Errors.tooManyDatabases({ limit: maxDatabases });
      return show(row);
    },

    async list(account, page, name) {
      // Names cannot contain other characters, and not every database engine can search for all of them.
      if (name !== undefined && !/^[A-Za-z0-9_-]*$/.test(name)) return { items: [], total: 0 };
      const { rows, total } = await table.page(account, page, name);
      return { items: rows.map(show), total };
    },

    get,

    async changeReadReplication(account, id, mode) {
      await table.changeReadReplication(account, id, mode);
      const row = await find(account, id);
      if (!row) throw d1Errors.databaseNotFound({ id });
      return show(row);
    },

    async delete(account, id) {
      if (!(await table.markRemoved(account, id, clock.now()))) throw d1Errors.databaseNotFound({ id });
      liveDatabases.delete(id);
      if (!databases) return;
      const fileRemoval = databases
        .delete(id)
        .catch((err: unknown) =>
          log.warn(
            { database: id, reason: messageOf(err) },
            "d1: failed to delete the file of a deleted database; the sweep will retry",
          ),
        );
      await Promise.race([fileRemoval, clock.sleep(REMOVAL_MS)]);
    },

    exists: async (account, id) => (await find(account, id)) !== undefined,
    isLive: (account, id) => liveDatabases.get(id) === account || check(account, id),

    async sweep() {
      if (!databases) return;
      for (let after: { at: number; id: string } | undefined; ;) {
        const batch = await table.removed(after, BATCH);
        for (const { id, at } of batch) {
          await databases.delete(id);
          if (at < clock.now() - REMOVED_RETENTION_MS) await table.forget(id);
        }
        if (batch.length < BATCH) return;
        after = batch.at(-1);
      }
    },
  };
}

const show = ({ id, name, createdAt, readReplication, jurisdiction, locationHint }: DatabaseRow): D1Database => ({
  id,
  name,
  createdAt: new Date(createdAt),
  readReplication,
  jurisdiction,
  locationHint,
});
