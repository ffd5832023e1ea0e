import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Scripts } from "../../workers/index.ts";
import type { Zones } from "../../zones/index.ts";
import type { Addresses } from "../addresses/index.ts";
import type { DkimKeys } from "../dkim-keys/index.ts";
import type { NeededRecord, RoutingHosts } from "./needed.ts";

/** Dependencies shared by the routing modules. */
export interface RoutingParts {
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
  /** A rule or a setting of the zone changed; `names`: the set of routed names changed as well. */
  changed(zone: string, what?: "names"): void;
}

export interface RoutingLimits {
  /** Maximum number of rules per zone, without the catch-all rule. */
  rules: number;
  /** Maximum number of routed names per zone. */
  names: number;
}

/** Checks what a resolver returns for the records; the zones domain only knows the intended state. */
export interface RecordVerifier {
  /** Records not found at the last lookup of the name; undefined: not looked up yet. Answers from memory. */
  missing(name: string, needed: readonly NeededRecord[]): Promise<NeededRecord[] | undefined>;
}
