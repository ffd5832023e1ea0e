import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { randomIds, silentLog, type Log, type UserError } from "../../kernel/index.ts";
import { createLocalEvents, type Db } from "../../store/index.ts";
import {
  createWorkerRouting,
  routingMigrations,
  type CheckDomainAccess,
  type RoutingZone,
  type WantedDomain,
} from "./index.ts";

export const A = "a".repeat(32);
export const B = "b".repeat(32);
export const refusal = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  return true;
};

/** Opens routing on an empty database, with three zones of two accounts. */
export async function startRouting(t: TestContext, engine: TestEngine) {
  const scope = { after: (end: () => Promise<void>) => void t.after(end) };
  const { db, another: openAnother } = await engine.open(scope, routingMigrations);
  const events = createLocalEvents({ log: silentLog });
  t.after(() => events.close());
  const zones = new Map<string, RoutingZone>();
  for (const [id, account, name] of [
    ["z1", A, "example.com"],
    ["z2", A, "sub.example.com"],
    ["z3", B, "other.example"],
  ])
    zones.set(id!, { id: id!, account: account!, name: name! });
  /** `published`: the hosts of published DNS records by zone. `conflicting`: hosts with other records. */
  const published = new Map<string, readonly string[]>();
  const conflicting = new Set<string>();
  let isBroken = false;
  const closestZone = (host: string) =>
    [...zones.values()]
      .filter(({ name }) => host === name || host.endsWith(`.${name}`))
      .sort((a, b) => b.name.length - a.name.length)[0];
  const warnings: unknown[][] = [];
  const log: Log = { ...silentLog, warn: (...words: unknown[]) => void warnings.push(words) };
  const open = (onDb: Db, hasApiHost = true) => {
    const routing = createWorkerRouting({
      db: onDb,
      events,
      zones: {
        find: async (id) => zones.get(id),
        findEnclosing: async (host) => closestZone(host),
        conflicts: async (_zone, hosts) => hosts.filter((host) => conflicting.has(host)),
        async publish({ id }, hosts) {
          if (isBroken) throw new Error("DNS does not work");
          published.set(id, hosts);
        },
      },
      owners: { find: (host) => closestZone(host)?.account },
      zoneDeletedTopic: "zone-deleted",
      hasScript: async (_account, name) => name !== "absent",
      schemeOf: ({ headers }) => (headers["x-forwarded-proto"] === "https" ? "https" : "http"),
      hasApiHost,
      ids: randomIds,
      log,
    });
    t.after(() => routing.close());
    return routing;
  };
  const routing = open(db);
  await routing.load();
  const scriptAt = (url: string, from = routing) => {
    const { host, pathname, search } = new URL(url);
    const ref = from.match({ headers: { host }, url: pathname + search } as IncomingMessage);
    assert.ok(!(ref instanceof Promise));
    return ref?.script;
  };
  const { attach, detach, replace, validate, ...domains } = routing.domains;
  const anyone = () => {};
  return {
    ...routing,
    /** By default, acts as a caller who may change everything. */
    domains: {
      ...domains,
      attach: (account: string, script: string, domain: WantedDomain, check: CheckDomainAccess = anyone) =>
        attach(account, script, domain, check),
      detach: (account: string, id: string, check: CheckDomainAccess = anyone) => detach(account, id, check),
      replace: (
        account: string,
        script: string,
        wanted: readonly WantedDomain[],
        override: { origins: boolean; records: boolean },
        check: CheckDomainAccess = anyone,
      ) => replace(account, script, wanted, override, check),
      validate: (
        account: string,
        script: string,
        wanted: readonly WantedDomain[],
        override: { origins: boolean; records: boolean },
        check: CheckDomainAccess = anyone,
      ) => validate(account, script, wanted, override, check),
    },
    db,
    at: scriptAt,
    zones,
    events,
    published,
    conflicting,
    breakDns: (value: boolean) => void (isBroken = value),
    another: async (hasApiHost?: boolean) => open(await openAnother(), hasApiHost),
    warnings,
  };
}
