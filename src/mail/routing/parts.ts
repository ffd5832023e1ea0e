import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Scripts } from "../../workers/index.ts";
import type { Zones } from "../../zones/index.ts";
import type { Addresses } from "../addresses/index.ts";
import type { DkimKeys } from "../dkim-keys/index.ts";
import type { NeededRecord, RoutingHosts } from "./needed.ts";

/** What the files of this room share. */
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
  /** A rule or a setting of the zone is another now; `names`: also which names mail is routed for. */
  changed(zone: string, what?: "names"): void;
}

export interface RoutingLimits {
  /** Rules of a zone, the catch-all rule aside. */
  rules: number;
  /** Names of a zone that mail is routed for. */
  names: number;
}

/** What a resolver sees of the records; the zones room only knows what they should be. */
export interface RecordVerifier {
  /** Those that were not found when the name was last looked up; undefined: nobody looked yet. To be answered from memory. */
  missing(name: string, needed: readonly NeededRecord[]): Promise<NeededRecord[] | undefined>;
}
