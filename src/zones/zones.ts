import { randomInt } from "node:crypto";
import { type Clock, type Ids, messageOf, type Page, type PageRequest } from "../kernel/index.ts";
import { ancestors, DnsSyntaxError, normalizeDomain, normalizeHost } from "../protocol/dns/index.ts";
import { isUniqueViolation, publishChange, type Db, type Events } from "../store/index.ts";
import { zoneErrors } from "./errors.ts";
import type { ZoneTables } from "./tables.ts";
import type { Zone, ZoneStatus, ZoneType } from "./types.ts";
import { createZoneAccounts, ZONE_DELETED } from "./zone-accounts.ts";
import {
  countZones,
  deleteZone,
  insertZone,
  listZones,
  updateZone,
  zoneById,
  zoneIdsOf,
  zonesByName,
  type ZoneQuery,
} from "./zones-table.ts";

export interface ZoneList {
  /**
   * `id`: 32 hex digits; default: a random one. Throws badName, publicSuffix, zoneExists, othersZone, unsupportedType,
   * idTaken.
   */
  create(request: {
    account: string;
    name: string;
    type?: ZoneType | undefined;
    id?: string | undefined;
  }): Promise<Zone>;
  /** Throws noZone. */
  get(id: string): Promise<Zone>;
  find(id: string): Promise<Zone | undefined>;
  /** Resolves with the zone with this name; with `enclosing`, the closest zone that contains it. */
  byName(name: string, options?: { enclosing?: boolean }): Promise<Zone | undefined>;
  list(query: ZoneQuery, page: PageRequest): Promise<Page<Zone>>;
  /** Ids of up to `limit` zones of an account, ordered by name. */
  idsOf(account: string, limit: number): Promise<string[]>;
  /** Omitted fields keep their values. Throws noZone, unsupportedType, badVanity. */
  update(id: string, change: ZoneChange): Promise<Zone>;
  /** Stores whether the registrar delegates to the zone's name servers. */
  setStatus(id: string, status: ZoneStatus): Promise<Zone>;
  /** Also deletes its records. Throws noZone. Publishes the event ZONE_DELETED. */
  delete(id: string): Promise<void>;
  /** Resolves with the number of an account's zones, used for AccountContents. */
  count(account: string): Promise<number>;
}

interface ZoneChange {
  paused?: boolean | undefined;
  type?: ZoneType | undefined;
  vanityNameServers?: string[] | undefined;
}

interface ZoneListDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  events: Events;
  nameServers: readonly string[];
  /** Status of a new zone: "pending" if a delegation check calls setStatus. */
  firstStatus: ZoneStatus;
}

/**
 * Second-level names under which country registries sell domains: co.uk, com.au. Covers only the most common pattern of
 * the public suffix list.
 */
const PUBLIC_SUFFIX = /^(ac|co|com|edu|gov|gob|go|ltd|mil|ne|net|nom|or|org|plc|sch)\.[a-z]{2}$/;
/** Registries that sell domains directly at those second-level names. */
const DIRECT_REGISTRATION = /\.(ai|cc|de|fm|me|tv|ws|io|eu)$/;
const MAX_VANITY_SERVERS = 10;

export function createZoneList({ db, clock, ids, events, nameServers, firstStatus }: ZoneListDeps): ZoneList &
  Pick<ReturnType<typeof createZoneAccounts>, "close"> & {
    account(zone: string): Promise<string | undefined>;
    cachedAccount(zone: string): string | undefined;
  } {
  const tables = db.tables<ZoneTables>();
  const find = zoneById(tables);
  const accounts = createZoneAccounts({ read: async (id) => (await find(id))?.account, events });

  async function get(id: string): Promise<Zone> {
    const zone = await find(id);
    if (zone === undefined) throw zoneErrors.noZone({ id });
    return zone;
  }

  const change = (id: string, alter: (zone: Zone) => Partial<Zone>) =>
    db.transaction<ZoneTables, Zone>(async (tx) => {
      const zone = await zoneById(tx)(id);
      if (zone === undefined) throw zoneErrors.noZone({ id });
      const next = { ...zone, ...alter(zone), modifiedAt: clock.now() };
      await updateZone(tx, next);
      return next;
    });

  return {
    get,
    find,
    async create({ account, name: givenName, type = "full", id: chosenId }) {
      const name = domainName(givenName);
      checkType(type);
      const now = clock.now();
      const zone: Zone = {
        id: chosenId ?? ids.hex(),
        account,
        name,
        type,
        status: firstStatus,
        paused: false,
        nameServers: [...nameServers],
        vanityNameServers: [],
        verificationKey: type === "partial" ? `${randomInt(10 ** 9)}-${randomInt(10 ** 9)}` : null,
        createdAt: now,
        modifiedAt: now,
        activatedAt: firstStatus === "active" ? now : null,
        serial: Math.floor(now / 1000),
      };
      try {
        await db.transaction<ZoneTables, void>(async (tx) => {
          for (const other of await zonesByName(tx, [name, ...ancestors(name)])) {
            if (other.name === name) throw zoneErrors.zoneExists({ name });
            // Otherwise an account could intercept mail for a name in another account's domain.
            if (other.account !== account) throw zoneErrors.othersZone({ name, zone: other.name });
          }
          if (chosenId !== undefined && (await zoneById(tx)(chosenId)) !== undefined)
            throw zoneErrors.idTaken({ id: chosenId });
          await insertZone(tx, zone);
        });
      } catch (err) {
        throw isUniqueViolation(err) ? zoneErrors.zoneExists({ name }, { cause: err }) : err;
      }
      publishChange(events, { topic: "zones", account, zone: zone.id, id: zone.id });
      return zone;
    },
    async byName(name, { enclosing = false } = {}) {
      const relatedZones = await zonesByName(tables, enclosing ? [name, ...ancestors(name)] : [name]);
      return relatedZones.sort((a, b) => b.name.length - a.name.length)[0];
    },
    list: (query, page) => listZones(tables, query, page),
    idsOf: (account, limit) => zoneIdsOf(tables, account, limit),
    count: (account) => countZones(tables, account),
    async update(id, { paused, type, vanityNameServers }) {
      if (type !== undefined) checkType(type);
      const vanity = vanityNameServers && checkVanity(vanityNameServers);
      return change(id, () => ({
        ...(paused !== undefined && { paused }),
        ...(type !== undefined && { type }),
        ...(vanity && { vanityNameServers: vanity }),
      }));
    },
    async setStatus(id, status) {
      const zone = await change(id, ({ activatedAt }) => ({
        status,
        activatedAt: status === "active" ? clock.now() : activatedAt,
      }));
      publishChange(events, { topic: "zones", account: zone.account, zone: id, id });
      return zone;
    },
    async delete(id) {
      const account = await db.transaction<ZoneTables, string | undefined>((tx) => deleteZone(tx, id));
      accounts.forget(id);
      if (account === undefined) throw zoneErrors.noZone({ id });
      events.publish(ZONE_DELETED, id);
      publishChange(events, { topic: "zones", account, zone: id, id });
    },
    account: accounts.find,
    cachedAccount: accounts.cached,
    close: accounts.close,
  };
}

function domainName(givenName: string): string {
  let name: string;
  try {
    name = normalizeDomain(givenName);
  } catch (err) {
    if (err instanceof DnsSyntaxError) throw zoneErrors.badName({ reason: err.message }, { cause: err });
    throw err;
  }
  if (PUBLIC_SUFFIX.test(name) && !DIRECT_REGISTRATION.test(name)) throw zoneErrors.publicSuffix({ name });
  return name;
}

function checkType(type: ZoneType): void {
  if (type !== "full" && type !== "partial") throw zoneErrors.unsupportedType({ type });
}

function checkVanity(hosts: string[]): string[] {
  if (hosts.length > MAX_VANITY_SERVERS)
    throw zoneErrors.badVanity({
      host: hosts[MAX_VANITY_SERVERS],
      reason: `at most ${MAX_VANITY_SERVERS} are allowed`,
    });
  return hosts.map((host) => {
    try {
      return normalizeHost(host);
    } catch (err) {
      throw zoneErrors.badVanity({ host, reason: messageOf(err) }, { cause: err });
    }
  });
}
