import type { IncomingMessage } from "node:http";
import type { AccountsModule } from "../accounts/index.ts";
import type { PrimaryProcessService } from "../kernel/primary-process.ts";
import type { Basics } from "../kernel/index.ts";
import { createR2HttpHandlers, type R2HttpHandlers, type R2HttpHandlerOptions } from "./r2-http.ts";
import type { Secrets, Store } from "../store/index.ts";
import { createAssets, type AssetUploads } from "./assets/store/assets.ts";
import type { Bindings } from "./bindings/bindings.ts";
import { OBJECT_CALLS, serveObjectCalls } from "./bindings/services/primary-process-calls.ts";
import { watchDeletedZones } from "./bucket-settings/index.ts";
import { createLiveWorkers } from "./live/live.ts";
import { traceWorkers } from "./live/trace-workers.ts";
import { OBJECT_STORAGE_CALLS, serveObjectStorage } from "./objects/primary-process-storage.ts";
import { createObjectNamespaces } from "./objects/namespaces.ts";
import type { ObjectNamespaces } from "./objects/port.ts";
import { runObjects } from "./objects/run-objects.ts";
import { createScriptObjects } from "./objects/script-objects.ts";
import type { WorkerRuntime } from "./runtime/port.ts";
import { createHostOwners, createWorkerRouting, type RoutingZones, type WorkerRouting } from "./routing/index.ts";
import { createSchedules } from "./schedules/schedules.ts";
import type { LiveVersions } from "./scripts/live-versions.ts";
import type { LiveWorkers } from "./scripts/port.ts";
import type { ScriptReferences } from "./scripts/references.ts";
import { createScripts, type ScriptStore } from "./scripts/scripts.ts";
import { createConsumerLookup, createTailConsumers, createTails, type Tails } from "./tails/index.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;

interface WorkersOptions {
  store: Store;
  bindings: Bindings;
  secrets: Secrets;
  runtime: WorkerRuntime;
  accounts: Pick<AccountsModule, "nameOf" | "stillValid" | "onChanged" | "s3Credentials">;
  /** The zones in which workers have routes and custom domains. */
  zones: RoutingZones;
  /** Topic of the event that reports a deleted zone. */
  zoneDeleted: string;
  /** Returns the scheme that the client used for a request. */
  schemeOf(request: IncomingMessage): "http" | "https";
  r2Http: R2HttpHandlerOptions;
  /** Maximum size of an uploaded script with its modules, in bytes. */
  scriptBytes: number;
  /** True if this process runs cron triggers and delivers queue messages. */
  scheduled: boolean;
  /** Returns the references to workers by name in higher domains. Called for each rename. */
  otherReferences(): readonly ScriptReferences[];
}

/** Deployed workers. */
export interface Workers {
  scripts: ScriptStore;
  live: LiveWorkers & LiveVersions;
  tails: Tails;
  assets: AssetUploads;
  /** Routing of requests to workers. Call `load` before the first request. */
  routing: WorkerRouting;
  r2Http: R2HttpHandlers;
  /** Call `load` before the first request. */
  bucketDomains: { load(): Promise<void> };
  objectNamespaces: ObjectNamespaces;
  /** The services of the primary process for the other processes of this server. */
  processServices: Readonly<Record<string, PrimaryProcessService>>;
}

export function createWorkers(
  {
    store: { db, objects, events, jobs, sweeps, limits },
    bindings,
    secrets,
    runtime,
    accounts,
    zones,
    zoneDeleted,
    schemeOf,
    r2Http,
    scriptBytes,
    scheduled,
    otherReferences,
  }: WorkersOptions,
  { clock, ids, log, lifecycle, tracing }: Basics,
): Workers {
  const assets = createAssets({ db, objects, secrets, clock, ids });
  const { objectStorage, remoteObjectStorage } = runtime;
  const durableObjects = createScriptObjects({
    db,
    ids,
    log,
    storage: objectStorage ?? remoteObjectStorage,
    isRemote: remoteObjectStorage !== undefined,
  });
  const liveWorkers = traceWorkers(
    createLiveWorkers({ db, objects, secrets, assets, durableObjects, events, runtime, clock, log }),
    tracing,
  );
  lifecycle.onStop("live workers", () => liveWorkers.close());
  const tails = createTails({
    db,
    events,
    clock,
    ids,
    log,
    mayRead: async ({ token, account, createdAt }) =>
      (await accounts.stillValid(token, createdAt))?.allows("Workers Tail Read", { account }) === true,
  });
  lifecycle.onStop("tails", () => tails.close());
  tails.watch(runtime);
  const consumerLookup = createConsumerLookup({ db, events, clock });
  const consumers = createTailConsumers({
    consumersOf: consumerLookup.consumersOf,
    deliver: liveWorkers.tail,
    clock,
    log,
  });
  const stopWatching = consumers.watch(runtime);
  lifecycle.onStop("tail workers", async () => {
    stopWatching();
    await consumers.close();
    consumerLookup.close();
  });
  accounts.onChanged(
    () =>
      void tails
        .recheck()
        .catch((err: unknown) => log.warn({ err }, "tails: failed to check session tokens, will retry")),
  );
  const scripts: ScriptStore = createScripts({
    db,
    objects,
    secrets,
    events,
    live: liveWorkers,
    assets,
    durableObjects,
    clock,
    ids,
    log,
    targets: {
      kvNamespace: (account, id) => bindings.kv.namespaces.exists(account, id),
      r2Bucket: (account, name) => bindings.r2.bucketList.exists(account, name),
      d1Database: (account, id) => bindings.d1.list.exists(account, id),
      worker: async (account, name) => (await scripts.get(account, name)) !== undefined,
      queue: (account, name) => bindings.queue.queues.exists(account, name),
      storedSecret: async (account, store, name) =>
        (await bindings.secretsStore.store?.isForWorkers(account, store, name)) === true,
    },
    references: [
      { rename: (...rename) => routing.references.rename(...rename) },
      bindings.queue.queues.references,
      tails.references,
      { rename: (...rename) => renameAll(otherReferences(), ...rename) },
    ],
    accountName: accounts.nameOf,
    limits: { scriptBytes },
  });
  const owners = createHostOwners({ zones, events, zoneDeletedTopic: zoneDeleted, clock });
  lifecycle.onStop("host owners", owners.close);
  const bucketDomains = watchDeletedZones({
    settings: bindings.r2.settings,
    zones,
    events,
    zoneDeletedTopic: zoneDeleted,
    log,
  });
  lifecycle.onStop("bucket domains", () => bucketDomains.close());
  const routing = createWorkerRouting({
    db,
    events,
    zones,
    owners,
    zoneDeletedTopic: zoneDeleted,
    hasScript: async (account, name) => (await scripts.get(account, name)) !== undefined,
    schemeOf,
    hasApiHost: r2Http.hasApiHost,
    ids,
    log,
  });
  lifecycle.onStop("worker routes", () => routing.close());
  if (scheduled) {
    const schedules = createSchedules({ db, jobs, live: liveWorkers, clock, log });
    lifecycle.onStop("schedules", () => schedules.close());
    const deliveries = bindings.queue.deliver((ref, batch) => liveWorkers.queue(ref, batch));
    lifecycle.onStop("queues", () => deliveries.close());
  }
  if (objectStorage !== undefined) {
    const objectRunner = runObjects({ db, storage: objectStorage, live: liveWorkers, clock, log });
    lifecycle.onStop("durable objects", () => objectRunner.close());
  }
  const sweep = sweeps.every(SWEEP_INTERVAL_MS, () => scripts.sweep(), { name: "storage: module sweep", log });
  lifecycle.onStop("module sweep", () => sweep.stop());
  const assetSweep = sweeps.every(SWEEP_INTERVAL_MS, () => assets.sweep(), { name: "storage: asset sweep", log });
  lifecycle.onStop("asset sweep", () => assetSweep.stop());

  return {
    scripts: {
      ...scripts,
      async delete(account, name) {
        await scripts.delete(account, name);
        await tails.deleteAll(account, name);
        await bindings.queue.queues.removeConsumersOf(account, name);
        await routing.removeScript(account, name);
      },
    },
    live: liveWorkers,
    tails,
    assets,
    routing,
    bucketDomains,
    processServices:
      objectStorage === undefined
        ? {}
        : {
            [OBJECT_CALLS]: serveObjectCalls(liveWorkers.calls),
            [OBJECT_STORAGE_CALLS]: serveObjectStorage(objectStorage, liveWorkers.refresh),
          },
    r2Http: createR2HttpHandlers(r2Http, { r2: bindings.r2, accounts, owners, limits }, { clock, ids, log }),
    objectNamespaces: createObjectNamespaces({
      db,
      storage: objectStorage ?? remoteObjectStorage ?? { list: async () => ({ items: [], total: 0 }) },
    }),
  };
}

async function renameAll(
  references: readonly ScriptReferences[],
  ...rename: Parameters<ScriptReferences["rename"]>
): Promise<() => Promise<void>> {
  const announcements: (() => void | Promise<void>)[] = [];
  for (const each of references) announcements.push(await each.rename(...rename));
  return async () => {
    await Promise.all(announcements.map((announce) => announce()));
  };
}
