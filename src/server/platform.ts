import type { IncomingMessage } from "node:http";
import { createAccounts, type AccountsModule } from "../accounts/index.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Secrets, Store } from "../store/index.ts";
import { createWorkers, type Bindings, type WorkerRuntime, type Workers } from "../workers/index.ts";
import { createZones, ZONE_DELETED, type Zones } from "../zones/index.ts";
import { createOwnHosts, hasApiHost } from "./own-hosts.ts";
import { createRoutingZones, publicHostOf } from "./routing-zones.ts";

/** The modules behind the API, regardless of this process's roles. */
export interface Platform extends Workers {
  accounts: AccountsModule;
  zones: Zones;
  /** Resolves with the oldest account: its workers are reachable under /workers/<script>/. */
  defaultAccount(): Promise<{ id: string; name: string } | undefined>;
}

interface PlatformDeps {
  store: Store;
  bindings: Bindings;
  secrets: Secrets;
  runtime: WorkerRuntime;
  settings: Settings;
  /** Returns the scheme that the client used for a request. */
  schemeOf(request: IncomingMessage): "http" | "https";
  /** True if this process runs cron triggers and delivers queue messages. */
  scheduled: boolean;
  /**
   * Resources that an account has in modules created later, as name and count: an account with resources cannot be
   * deleted.
   */
  otherContents(account: string): Promise<Record<string, number>>;
  /** References to workers in modules created later. */
  otherReferences: Parameters<typeof createWorkers>[0]["otherReferences"];
}

const HOUR_MS = 3_600_000;

const r2HttpOptions = (settings: Settings) => ({
  s3Domain: settings.r2.s3_domain,
  publicDomain: settings.r2.public_domain,
  clientIp: createClientAddress(settings.http.trusted_proxies).ip,
  isOwnHost: createOwnHosts(settings),
  failureLimit: settings.api.rate_limit,
  hasApiHost: hasApiHost(settings),
});

export function composePlatform(
  { store, bindings, secrets, runtime, settings, schemeOf, scheduled, otherContents, otherReferences }: PlatformDeps,
  basics: Basics,
): Platform {
  const { db, events } = store;
  const { clock, ids, log, lifecycle } = basics;
  const accounts = createAccounts({
    db,
    clock,
    ids,
    events,
    log,
    secrets,
    rateLimits: store.limits,
    dashboard: settings.dashboard,
    auditDays: settings.audit.days,
    contents: (account) => contentsOf(account),
  });
  lifecycle.onStop("accounts", () => accounts.close());
  const auditSweep = store.sweeps.every(HOUR_MS, accounts.audit.sweep, { name: "audit: sweep of entries", log });
  void auditSweep.run();
  lifecycle.onStop("audit log", () => auditSweep.stop());
  const zones = createZones({ db, clock, ids, events, nameServers: settings.dns.name_servers });
  lifecycle.onStop("zones", () => zones.close());
  const scriptBytes = settings.workers.script_mb * 1024 * 1024;
  const workers = createWorkers(
    {
      store,
      bindings,
      secrets,
      runtime,
      accounts,
      zones: createRoutingZones({ zones, webHost: publicHostOf(settings.http.public_url) }),
      zoneDeleted: ZONE_DELETED,
      schemeOf,
      scriptBytes,
      scheduled,
      otherReferences,
      r2Http: r2HttpOptions(settings),
    },
    basics,
  );

  async function contentsOf(account: string): Promise<string | undefined> {
    const firstPage = { page: 1, perPage: 1 };
    const counts = {
      zone: await zones.count(account),
      worker: (await workers.scripts.list(account, firstPage)).total,
      "KV namespace": (await bindings.kv.namespaces.list(account, firstPage)).total,
      "R2 bucket": (await bindings.r2.bucketList.list(account, { limit: 1 })).buckets.length,
      "D1 database": (await bindings.d1.list.list(account, firstPage)).total,
      queue: (await bindings.queue.queues.list(account, firstPage)).total,
      "secrets store": (await bindings.secretsStore.store?.count(account))?.stores ?? 0,
      "AI gateway": (await bindings.aiGateway.gateways.list(account, firstPage)).total,
      ...(await otherContents(account)),
    };
    const countTexts = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([contentTexts, count]) => `${count} ${contentTexts}${count === 1 ? "" : "s"}`);
    return countTexts.length === 0 ? undefined : countTexts.join(", ");
  }

  return { ...workers, accounts, zones, defaultAccount: () => accounts.firstAccount() };
}
