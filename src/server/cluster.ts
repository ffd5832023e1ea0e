import { hostname } from "node:os";
import { joinCluster, type DatabaseTime, type Membership } from "../cluster/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Store } from "../store/index.ts";
import type { Role } from "./roles.ts";

interface ClusterDeps {
  store: Pick<Store, "db" | "events">;
  roles: ReadonlySet<Role>;
  version: string;
  databaseTime: DatabaseTime;
}

/** This process as one of the nodes of its PostgreSQL database. */
export interface Cluster {
  readonly databaseTime: DatabaseTime;
  /** Number of nodes that are alive, this one included. */
  liveNodes(): number;
  /** Adds this process to the nodes. Call it once all listeners accept connections. */
  join(): Promise<Membership>;
}

export function composeCluster(
  { store, roles, version, databaseTime }: ClusterDeps,
  { ids, log, lifecycle }: Basics,
): Cluster {
  let joined: Membership | undefined;
  return {
    databaseTime,
    liveNodes: () => joined?.nodes().length ?? 1,
    async join() {
      const node = { id: ids.hex(), name: hostname(), address: "", roles: [...roles], version };
      const membership = await joinCluster({ ...store, log, node });
      lifecycle.onStop("node", () => membership.close());
      joined = membership;
      return membership;
    },
  };
}
