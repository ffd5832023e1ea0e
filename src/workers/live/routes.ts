import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { Route } from "./pick.ts";
import { loadRoute } from "./routes-table.ts";

/**
 * What is deployed, remembered until somebody says that it has changed; not for long where another process may have changed it and died before it
 * could say so.
 */
export interface Routes {
  /** What is known without asking the database: between this and the use of it nothing can come. */
  known(ref: ScriptRef): Route | undefined;
  load(ref: ScriptRef): Promise<Route | undefined>;
  /** From the database, whatever is remembered. */
  current(scriptId: string): Promise<Route | undefined>;
  forget(scriptId: string): void;
  forgetAll(): void;
}

/** What a lost hint costs. */
const MAX_AGE_MS = 30_000;

export function createRoutes({ db, clock, limit }: { db: Db; clock: Clock; limit: number }): Routes {
  /** In the order of their first load. */
  const routes = new Map<string, { route: Route; at: number }>();
  const names = new Map<string, string>();
  const loading = new Map<string, Promise<Route | undefined>>();
  /** Counts what was forgotten: an answer of the database that is older must not be remembered. */
  let generation = 0;

  async function load(ref: ScriptRef, key: string): Promise<Route | undefined> {
    const asked = generation;
    const at = clock.now();
    const route = await loadRoute(db, ref);
    if (route === undefined || asked !== generation) return route;
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
