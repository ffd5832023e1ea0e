import { silentLog, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Db, Events, Secrets } from "../../store/index.ts";
import type { ScriptReferences } from "../../workers/index.ts";
import { ZONE_DELETED, type Zone, type Zones } from "../../zones/index.ts";
import { createAddresses, type Addresses, type AddressesDeps } from "../addresses/index.ts";
import { createDkimKeys, type DkimKeys } from "../dkim-keys/index.ts";
import { createRoutingDns, type RoutingDns } from "./dns.ts";
import { routingErrors } from "./errors.ts";
import { deleteRoutingData, listZoneIds } from "./names-table.ts";
import type { RoutingHosts } from "./needed.ts";
import type { RecordVerifier, RoutingLimits, RoutingDeps } from "./deps.ts";
import { createPlanner, type PlannedZone, type PlanRequest } from "./plan.ts";
import { createResolve } from "./resolve.ts";
import { createRules, type Rules } from "./rules.ts";
import { renameWorker, updateRulesOfDestination } from "./rules-table.ts";
import { createSettings, type ZoneSettings } from "./settings.ts";
import { createTablesCache } from "./tables-cache.ts";
import type { RoutingExecutor, RoutingTables } from "./tables.ts";
import type { Resolution } from "./types.ts";

export interface EmailRoutingOptions {
  db: Db;
  zones: Zones;
  scripts: RoutingDeps["scripts"];
  secrets: Secrets;
  events: Events;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex" | "token">;
  /** Links in verification mail, and the address limit per account. `addresses.onVerification` sends the mail. */
  addresses: Pick<AddressesDeps, "link"> & { limit?: number };
  hosts: RoutingHosts;
  /**
   * Destination for mail to postmaster that matches no rule. Default: the account's first verified destination address.
   */
  postmaster?: string;
  verifier?: RecordVerifier;
  /** Accept rules with globs, regular expressions and several destinations. Default false, as on the hosted service. */
  extended?: boolean;
  limits?: Partial<RoutingLimits>;
  log?: Log;
}

export interface EmailRouting {
  settings: ZoneSettings;
  dns: RoutingDns;
  rules: Rules;
  addresses: Addresses;
  dkimKeys: DkimKeys;
  /** Returns the changes needed for a worker to own the addresses in its configuration file. */
  plan(account: string, request: PlanRequest): Promise<PlannedZone[]>;
  /** Enables or disables routing of a zone and, with a worker, makes it the catch-all. */
  connect(zone: Zone, request: { enabled: boolean; worker?: string | undefined }): Promise<void>;
  /** The workers that rules refer to. */
  readonly references: ScriptReferences;
  /** Returns the route of a recipient's mail; takes microseconds while nothing changes. */
  resolve(recipient: string): Promise<Resolution>;
  /**
   * Deletes the data of deleted zones. This happens automatically when a zone is deleted; call it at startup for zones
   * whose notification was missed.
   */
  deleteOrphans(): Promise<void>;
  close(): void;
}

/** https://developers.cloudflare.com/email-routing/limits/ */
const DEFAULT_LIMITS: RoutingLimits = { rules: 200, names: 30 };
const TIDY_BATCH_SIZE = 500;

export function createEmailRouting(options: EmailRoutingOptions): EmailRouting {
  const { db, zones, scripts, events, clock, ids, hosts, verifier, postmaster, log = silentLog } = options;
  const tables = createTablesCache({ db, events, zones, clock });
  const dkimKeys = createDkimKeys(options);
  const addresses = createAddresses({
    db,
    clock,
    ids,
    ...options.addresses,
    updateRules: (tx, ...change) => updateRulesOfDestination(tx as RoutingExecutor, ...change),
    onRulesChanged(changed) {
      for (const zone of changed) tables.invalidate(zone);
    },
  });
  const sharedDeps: RoutingDeps = {
    db,
    clock,
    ids,
    zones,
    scripts,
    addresses,
    dkimKeys,
    hosts,
    verifier,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    extended: options.extended ?? false,
    notifyChanged: tables.invalidate,
  };
  const dns = createRoutingDns(sharedDeps);
  const rules = createRules(sharedDeps);

  async function forget(zone: string) {
    await db.transaction<RoutingTables, void>((tx) => deleteRoutingData(tx, zone));
    await dkimKeys.deleteZone(zone);
    tables.invalidate(zone, "names");
  }

  async function deleteOrphans() {
    const kept = db.tables<RoutingTables>();
    for (let after: string | undefined = ""; after !== undefined;) {
      const ids: string[] = await listZoneIds(kept, after, TIDY_BATCH_SIZE);
      for (const id of ids) if ((await zones.find(id)) === undefined) await forget(id);
      after = ids.length < TIDY_BATCH_SIZE ? undefined : ids.at(-1);
    }
  }

  const unsubscribe = events.subscribe(ZONE_DELETED, (zone) => {
    // An empty id means that some notifications were lost.
    (zone === "" ? deleteOrphans() : forget(zone)).catch((err: unknown) =>
      log.error({ err, zone }, "email routing: failed to delete data of a deleted zone"),
    );
  });

  return {
    settings: createSettings(sharedDeps, dns),
    dns,
    rules,
    addresses,
    dkimKeys,
    deleteOrphans,
    plan: createPlanner(sharedDeps, rules),
    references: {
      async rename(tx, change) {
        const zoneIds = await renameWorker(tx as unknown as RoutingExecutor, change);
        return () => {
          for (const id of zoneIds) tables.invalidate(id);
        };
      },
    },
    async connect(zone, { enabled, worker }) {
      if (!enabled) return dns.disable(zone);
      // The worker is looked up first, so that nothing has changed if it is missing.
      if (worker !== undefined && (await scripts.get(zone.account, worker)) === undefined)
        throw routingErrors.unknownWorker({ worker });
      await dns.enable(zone);
      if (worker !== undefined)
        await rules.replaceCatchAll(zone, {
          matchers: [{ type: "all" }],
          actions: [{ type: "worker", value: [worker] }],
          enabled: true,
        });
    },
    resolve: createResolve({ scripts, addresses, clock, tables, postmaster }),
    close() {
      unsubscribe();
      tables.close();
      dkimKeys.close();
    },
  };
}
