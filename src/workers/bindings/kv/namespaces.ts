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
import { kvErrors } from "./errors.ts";
import type { KvStore } from "./kv-store.ts";
import { kvLimits } from "./limits.ts";
import { createNamespaceTable, type NamespaceOrder } from "./namespaces-table.ts";
import { createTtlCache } from "../recently-seen.ts";

/** The KV namespaces of accounts. Throws UserErrors of `kvErrors`; resolves once the change is on disk. */
export interface KvNamespaces {
  /** `id`: 32 hex digits; default: a random one. Throws titleTaken, badTitle, tooManyNamespaces, idTaken. */
  create(account: string, title: string, id?: string): Promise<KvNamespace>;
  list(account: string, page: PageRequest, order?: NamespaceOrder): Promise<Page<KvNamespace>>;
  get(account: string, id: string): Promise<KvNamespace | undefined>;
  /** Normalizes an id to its stored form. Returns undefined if the text is not an id. */
  parseId(text: string): string | undefined;
  /** Throws namespaceNotFound, titleTaken, badTitle. */
  rename(account: string, id: string, title: string): Promise<KvNamespace>;
  /**
   * Resolves when the namespace is deleted for all callers; its entries are removed in the background, and by `sweep()`
   * after a crash. Throws namespaceNotFound.
   */
  delete(account: string, id: string): Promise<void>;
  /** Used when creating a binding to the namespace. */
  exists(account: string, id: string): Promise<boolean>;
  /**
   * Like exists(), for a worker that is already bound: checked on every call, so a deletion on another machine may be
   * seen a few seconds late.
   */
  isLive(account: string, id: string): boolean | Promise<boolean>;
  /** Removes all entries of deleted namespaces. Call it at startup and periodically. */
  sweep(): Promise<void>;
  /** Stops the removal between two batches. */
  close(): Promise<void>;
}

export interface KvNamespace {
  /** 32 hex digits. */
  id: string;
  title: string;
  createdAt: Date;
}

export interface KvNamespacesOptions {
  db: Db;
  store: KvStore;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  /** Maximum number of namespaces per account. Default 1000. */
  maxNamespaces?: number;
}

/** Rows per delete: few enough that other writes do not wait for long. */
const DELETE_BATCH_SIZE = 500;
/** Number of deleted namespaces read per query. */
const NAMESPACE_BATCH_SIZE = 100;
/** How long a deleted namespace is checked again: a worker on another machine may have been writing to it. */
const REMOVED_RETENTION_MS = 3600_000;

export function createKvNamespaces({
  db,
  store,
  clock = systemClock,
  ids = randomIds,
  log = silentLog,
  maxNamespaces = kvLimits.namespaces,
}: KvNamespacesOptions): KvNamespaces {
  const table = createNamespaceTable(db);
  const ownerCache = createTtlCache<string>(clock);
  let removalInProgress: Promise<void> | undefined;
  let isRerunRequested = false;
  const closeAborter = new AbortController();

  async function get(account: string, id: string): Promise<KvNamespace | undefined> {
    const row = await table.find(id);
    return row?.account === account ? { id, title: row.title, createdAt: new Date(row.createdAt) } : undefined;
  }

  async function check(account: string, id: string): Promise<boolean> {
    const isOwned = (await table.find(id))?.account === account;
    if (isOwned) ownerCache.add(id, account);
    return isOwned;
  }

  /** Runs one sweep at a time; a call during a sweep triggers another round. */
  function sweep(): Promise<void> {
    if (removalInProgress) {
      isRerunRequested = true;
      return removalInProgress;
    }
    return (removalInProgress = removeAll().finally(() => (removalInProgress = undefined)));
  }

  async function removeAll(): Promise<void> {
    do {
      isRerunRequested = false;
      let after: { id: string; at: number } | undefined;
      for (;;) {
        const batch = await table.removed(after, NAMESPACE_BATCH_SIZE);
        for (const { id, at } of batch) {
          while (!closeAborter.signal.aborted && (await store.clear(id, DELETE_BATCH_SIZE)) === DELETE_BATCH_SIZE);
          if (closeAborter.signal.aborted) return;
          if (at < clock.now() - REMOVED_RETENTION_MS) await table.forget(id);
        }
        if (batch.length < NAMESPACE_BATCH_SIZE) break;
        after = batch.at(-1);
      }
    } while (isRerunRequested);
  }

  return {
    async create(account, title, id = ids.hex()) {
      checkTitle(title);
      const row = { id, account, title, createdAt: clock.now() };
      const outcome = await table.create(row, maxNamespaces);
      if (outcome === "title taken") throw kvErrors.titleTaken({ title: JSON.stringify(title) });
      if (outcome === "id taken") throw kvErrors.idTaken({ id });
      if (outcome === "too many") throw kvErrors.tooManyNamespaces({ limit: maxNamespaces });
      return { id: row.id, title, createdAt: new Date(row.createdAt) };
    },

    async list(account, page, order = { field: "title", direction: "asc" }) {
      const rows = await table.page(account, order, page);
      return {
        items: rows.map(({ id, title, createdAt }) => ({ id, title, createdAt: new Date(createdAt) })),
        total: await table.count(account),
      };
    },

    get,
    parseId: (text) => (/^[0-9a-f]{32}$/i.test(text) ? text.toLowerCase() : undefined),

    async rename(account, id, title) {
      checkTitle(title);
      const outcome = await table.rename(account, id, title);
      if (outcome === "title taken") throw kvErrors.titleTaken({ title: JSON.stringify(title) });
      const renamedNamespace = outcome ? await get(account, id) : undefined;
      if (!renamedNamespace) throw kvErrors.namespaceNotFound();
      return renamedNamespace;
    },

    async delete(account, id) {
      if (!(await table.markRemoved(account, id, clock.now()))) throw kvErrors.namespaceNotFound();
      ownerCache.delete(id);
      sweep().catch((err: unknown) =>
        log.warn(
          { namespace: id, reason: messageOf(err) },
          "kv: failed to delete the entries of a deleted namespace; the sweep will retry",
        ),
      );
    },

    exists: async (account, id) => (await get(account, id)) !== undefined,
    isLive: (account, id) => ownerCache.get(id) === account || check(account, id),
    sweep,
    async close() {
      closeAborter.abort();
      await removalInProgress?.catch(() => {});
    },
  };
}

/** Rejects U+0000 because PostgreSQL cannot store it, and lone surrogates because UTF-8 cannot encode them. */
function checkTitle(title: string): void {
  if (
    title.trim() === "" ||
    [...title].length > kvLimits.titleLength ||
    // oxlint-disable-next-line no-control-regex
    /[\0-\u001f\u007f]/.test(title) ||
    !title.isWellFormed()
  )
    throw kvErrors.badTitle({ limit: kvLimits.titleLength });
}
