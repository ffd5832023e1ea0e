import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { ScriptRoute } from "./pick.ts";
import { loadRoute } from "./routes-table.ts";

/**
 * Deployments, cached until a change is reported, and only briefly where another process may have changed one and died
 * before reporting it.
 */
interface Routes {
  /** Returns the cached route without a query: nothing can run between reading and using it. */
  known(ref: ScriptRef): ScriptRoute | undefined;
  load(ref: ScriptRef): Promise<ScriptRoute | undefined>;
  /** Reads from the database, bypassing the cache. */
  current(scriptId: string): Promise<ScriptRoute | undefined>;
  forget(scriptId: string): void;
  forgetAll(): void;
}

/** How long a lost notification can remain undetected. */
const MAX_AGE_MS = 30_000;

export function createScriptRoutes({ db, clock, limit }: { db: Db; clock: Clock; limit: number }): Routes {
  /** In order of their first load. */
  const routes = new Map<string, { route: ScriptRoute; at: number }>();
  const names = new Map<string, string>();
  const loading = new Map<string, Promise<ScriptRoute | undefined>>();
  /** Counts invalidations: a database result read before one must not be cached. */
  let generation = 0;

  async function load(ref: ScriptRef, key: string): Promise<ScriptRoute | undefined> {
    const requestedGeneration = generation;
    const at = clock.now();
    const route = await loadRoute(db, ref);
    if (route === undefined || requestedGeneration !== generation) return route;
    routes.set(key, { route, at });
    names.set(route.scriptId, key);
    if (routes.size > limit) drop(routes.keys().next().value!);
    return route;
  }

  function drop(key: string) {
    const known = routes.get(key);
    routes.delete(key);
    if (known !== undefined) names.delete(known.route.scriptId);
  }

  return {
    known(ref) {
      const known = routes.get(keyOf(ref));
      return known !== undefined && (db.dialect === "sqlite" || clock.now() - known.at < MAX_AGE_MS)
        ? known.route
        : undefined;
    },
    load(ref) {
      const key = `${generation}/${keyOf(ref)}`;
      let mine = loading.get(key);
      if (mine === undefined) {
        mine = load(ref, keyOf(ref)).finally(() => loading.delete(key));
        loading.set(key, mine);
      }
      return mine;
    },
    current: (scriptId) => loadRoute(db, { scriptId }),
    forget(scriptId) {
      generation++;
      const key = names.get(scriptId);
      if (key !== undefined) drop(key);
    },
    forgetAll() {
      generation++;
      routes.clear();
      names.clear();
    },
  };
}

const keyOf = ({ account, script }: ScriptRef) => `${account}/${script}`;
