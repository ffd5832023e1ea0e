import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { ScriptRoute } from "./select-version.ts";
import { loadRoute } from "./routes-table.ts";

/**
 * Caches deployments until a change is reported, and only briefly if another process may have changed one and died
 * before reporting it.
 */
interface Routes {
  /** Returns the cached route without a query, so nothing can run between reading and using it. */
  known(ref: ScriptRef): ScriptRoute | undefined;
  load(ref: ScriptRef): Promise<ScriptRoute | undefined>;
  /** Reads from the database, bypassing the cache. */
  current(scriptId: string): Promise<ScriptRoute | undefined>;
  forget(scriptId: string): void;
  forgetAll(): void;
}

/** How long a lost notification can remain undetected. */
const MAX_AGE_MS = 30_000;

/**
 * How long a worker can still be found by its former name, unless another worker has taken the name: routes and rules
 * that were read before the rename remain in use for up to MAX_AGE_MS. Clients do not notice, because the names in
 * their requests are looked up in the database first.
 */
const FORMER_NAME_MS = 60_000;

export function createScriptRoutes({ db, clock, limit }: { db: Db; clock: Clock; limit: number }): Routes {
  /** In order of their first load. */
  const routes = new Map<string, { route: ScriptRoute; at: number }>();
  /** The keys of a script's cached routes. */
  const keys = new Map<string, Set<string>>();
  const pendingLoads = new Map<string, Promise<ScriptRoute | undefined>>();
  /** Counts invalidations: a database result read before an invalidation must not be cached. */
  let generation = 0;

  async function load(ref: ScriptRef, key: string): Promise<ScriptRoute | undefined> {
    const requestedGeneration = generation;
    const at = clock.now();
    const route = await (ref.id === undefined ? loadRoute(db, ref) : loadRoute(db, { scriptId: ref.id }));
    if (route === undefined || requestedGeneration !== generation) return route;
    routes.set(key, { route, at });
    keys.set(route.scriptId, (keys.get(route.scriptId) ?? new Set()).add(key));
    if (routes.size > limit) drop(routes.keys().next().value!);
    return route;
  }

  function loadOnce(ref: ScriptRef): Promise<ScriptRoute | undefined> {
    const key = `${generation}/${keyOf(ref)}`;
    let pendingLoad = pendingLoads.get(key);
    if (pendingLoad === undefined) {
      pendingLoad = load(ref, keyOf(ref)).finally(() => pendingLoads.delete(key));
      pendingLoads.set(key, pendingLoad);
    }
    return pendingLoad;
  }

  function drop(key: string) {
    const cachedRoute = routes.get(key);
    routes.delete(key);
    if (cachedRoute === undefined) return;
    const scriptKeys = keys.get(cachedRoute.route.scriptId);
    scriptKeys?.delete(key);
    if (scriptKeys?.size === 0) keys.delete(cachedRoute.route.scriptId);
  }

  return {
    known(ref) {
      const cachedRoute = routes.get(keyOf(ref));
      return cachedRoute !== undefined && (!db.isShared || clock.now() - cachedRoute.at < MAX_AGE_MS)
        ? cachedRoute.route
        : undefined;
    },
    async load({ account, script, id }) {
      const ref = { account, script };
      // A worker that was deleted and deployed again has the same name but a new id, so an unknown id falls back to the
      // name.
      return (
        (id === undefined ? undefined : await loadOnce({ ...ref, id })) ??
        (await loadOnce(ref)) ??
        (await loadRoute(db, { ...ref, since: clock.now() - FORMER_NAME_MS }))
      );
    },
    current: (scriptId) => loadRoute(db, { scriptId }),
    forget(scriptId) {
      generation++;
      for (const key of keys.get(scriptId) ?? []) drop(key);
    },
    forgetAll() {
      generation++;
      routes.clear();
      keys.clear();
    },
  };
}

const keyOf = ({ account, script, id }: ScriptRef) => (id === undefined ? `${account}/${script}` : `id/${id}`);
