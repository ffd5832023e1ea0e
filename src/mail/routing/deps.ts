import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Scripts } from "../../workers/index.ts";
import type { Zones } from "../../zones/index.ts";
import type { Addresses } from "../addresses/index.ts";
import type { DkimKeys } from "../dkim-keys/index.ts";
import type { NeededRecord, RoutingHosts } from "./needed.ts";

/** Dependencies shared by the routing modules. */
export interface RoutingDeps {
  db: Db;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  zones: Zones;
  scripts: Pick<Scripts, "get" | "byId">;
  addresses: Pick<Addresses, "firstVerified">;
  dkimKeys: DkimKeys;
  hosts: RoutingHosts;
  limits: RoutingLimits;
  /** True if rules may have globs, regular expressions and several destinations. */
  extended: boolean;
  verifier?: RecordVerifier | undefined;
  /** Notifies about a changed rule or setting of the zone; `names`: the set of routed names changed as well. */
  notifyChanged(zone: string, what?: "names"): void;
}

export interface RoutingLimits {
  /** Maximum number of rules per zone, without the catch-all rule. */
  rules: number;
  /** Maximum number of routed names per zone. */
  names: number;
}

/** Checks which records a resolver returns; the zones domain only knows the intended state. */
export interface RecordVerifier {
  /**
   * Returns the records not found in the last lookup of the name; undefined if the name has not been looked up yet.
   * Served from memory.
   */
  missing(name: string, needed: readonly NeededRecord[]): Promise<NeededRecord[] | undefined>;
}
