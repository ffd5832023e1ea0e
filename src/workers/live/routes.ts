import type { Db } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import type { Route } from "./pick.ts";
import { loadRoute } from "./routes-table.ts";

/** What is deployed, remembered until somebody says that it has changed. */
export interface Routes {
  /** What is known without asking the database: between this and the use of it nothing can come. */
  known(ref: ScriptRef): Route | undefined;
  load(ref: ScriptRef): Promise<Route | undefined>;
  /** From the database, whatever is remembered. */
  current(scriptId: string): Promise<Route | undefined>;
  forget(scriptId: string): void;
  forgetAll(): void;
}

export function createRoutes({ db, limit }: { db: Db; limit: number }): Routes {
  /** In the order of their last load. */
  const routes = new Map<string, Route>();
  const names = new Map<string, string>();
  const loading = new Map<string, Promise<Route | undefined>>();
  /** Counts what was forgotten: an answer of the database that is older must not be remembered. */
  let generation = 0;

  async function load(ref: ScriptRef, key: string): Promise<Route | undefined> {
    const asked = generation;
    const route = await loadRoute(db, ref);
    if (route === undefined || asked !== generation) return route;
    routes.set(key, route);
    names.set(route.scriptId, key);
    if (routes.size > limit) drop(routes.keys().next().value!);
    return route;
  }

  function drop(key: string) {
    const route = routes.get(key);
    routes.delete(key);
    if (route !== undefined) names.delete(route.scriptId);
  }

  return {
    known: (ref) => routes.get(keyOf(ref)),
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
