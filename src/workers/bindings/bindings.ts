import { join } from "node:path";
import { every } from "../../kernel/periodic.ts";
import type { PrimaryProcess, PrimaryProcessService } from "../../kernel/primary-process.ts";
import type { Basics } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Secrets, Store } from "../../store/index.ts";
import {
  createD1DatabaseList,
  createD1Databases,
  createD1Service,
  createD1Transfers,
  createRemoteDatabases,
  D1_CALLS,
  d1DirectoryId,
  serveDatabases,
  type D1DatabaseList,
  type D1Service,
  type D1Transfers,
} from "./d1/index.ts";
import { createAnalytics, createAnalyticsService, type Analytics } from "./analytics/index.ts";
import { createKvService, type KvService } from "./kv/index.ts";
import { createRateLimitService } from "./rate-limits/service.ts";
import {
  aiProvidersOf,
  aiServerOf,
  createAiGatewayBinding,
  createAiGatewayProxy,
  createAiGateways,
  createAiService,
  createGatewayLookup,
  type AiGatewayProxy,
  type AiGateways,
  type FindGateway,
} from "../ai/index.ts";
import { createSecretsStore, createSecretsStoreService, type SecretsStore } from "../secrets-store/index.ts";
import { createQueueStore, type QueueStore } from "../queues/index.ts";
import {
  createBucketSettings,
  createLifecycleSweep,
  createR2Notifications,
  LIFECYCLE_SWEEP_MS,
  type BucketSettingsStore,
} from "../bucket-settings/index.ts";
import { createR2Service, type R2Service } from "./r2/index.ts";
import type { BindingServices } from "./service.ts";
import { unlistedBuckets, unlistedDatabases, unlistedNamespaces } from "./unlisted-resources.ts";

const SWEEP_MS = 10 * 60_000;

/** The storage bindings, which the API manages and workers use. */
export interface Bindings extends Omit<BindingServices, "sendEmail" | "stream" | "service"> {
  kv: KvService;
  r2: R2Service & { settings: BucketSettingsStore };
  analytics: BindingServices["analytics"] & Omit<Analytics, "write">;
  queue: QueueStore;
  /** `store` is absent in development. */
  secretsStore: BindingServices["secretsStore"] & { store?: SecretsStore };
  aiGateway: { gateways: AiGateways; proxy: AiGatewayProxy; find: FindGateway };
  d1: D1Service & { list: D1DatabaseList; transfers: D1Transfers };
  /** The services of the primary process for the other processes of this server. */
  processServices: Readonly<Record<string, PrimaryProcessService>>;
}

interface BindingsOptions {
  /**
   * `files`: this process executes queries. `transfers`: it accepts imports and exports. Default: both. `primary`: the
   * process that has the database files, and its data directory; by default, this process has them, in `directory`.
   */
  d1?: { files: boolean; transfers: boolean; primary?: PrimaryProcess & { directory: string } };
  /** Creates a queue when a worker first sends to it. Default false. */
  createQueues?: boolean;
  /** Settings with the AI servers, and the public URL of AI gateways. Without them, workers have no AI bindings. */
  settings?: Pick<Settings, "workers"> & Partial<Pick<Settings, "http">>;
  /** Encrypts the values of the Secrets Store. Absent in development, which has no Secrets Store. */
  secrets?: Secrets;
  /**
   * If true, every namespace, bucket and database exists, for every account. By default, only those in the list of the
   * account exist.
   */
  unlisted?: boolean;
}

/** Creates the storage bindings on one store. D1 databases are files in `directory`. */
export function createBindings(
  { db, objects, events, jobs, sweeps: sharedSweeps }: Store,
  directory: string,
  { clock, ids, log, lifecycle }: Basics,
  {
    d1: d1Runs = { files: true, transfers: true },
    createQueues = false,
    unlisted = false,
    secrets,
    settings,
  }: BindingsOptions = {},
): Bindings {
  const kv = createKvService({ db, objects, clock, ids, log });
  const analytics = createAnalytics({ db, clock, ids, log });
  const d1 = createD1();
  const queue = createQueueStore({ db, events, clock, ids, log, createsQueues: createQueues });
  const r2 = createR2();
  const { ai, aiGateway } = createAi();
  const secretsStore = secrets && createSecretsStore({ db, secrets, clock, ids });
  lifecycle.onStop("kv", async () => {
    await kv.namespaces.close();
    await kv.store.close();
  });
  lifecycle.onStop("r2", () => r2.buckets.close());
  lifecycle.onStop("d1", async () => {
    await d1.transfers.close();
    await d1.databases.close();
  });
  const sharedStores = {
    "kv: sweep of values": kv.store,
    "kv: sweep of namespaces": kv.namespaces,
    "r2: sweep of objects": r2.buckets,
    "r2: sweep of buckets": r2.bucketList,
    "analytics: sweep": analytics,
    "queues: sweep of messages": queue.messages,
    "ai gateway: sweep of responses": aiGateway.gateways,
  };
  const sweeps = Object.entries(sharedStores).map(([name, { sweep }]) =>
    sharedSweeps.every(SWEEP_MS, sweep, { name, log }),
  );
  // D1 databases and transfers are files in the data directory of one process, so each process sweeps its own.
  if (d1Runs.primary === undefined)
    for (const { sweep } of [d1.list, d1.transfers]) sweeps.push(every(SWEEP_MS, sweep, { name: "d1: sweep", log }));
  const lifecycleSweep = createLifecycleSweep({ ...r2, clock });
  let isStopping = false;
  sweeps.push(
    sharedSweeps.every(LIFECYCLE_SWEEP_MS, () => lifecycleSweep.sweep(() => isStopping), {
      name: "r2: lifecycle sweep",
      log,
    }),
  );
  // Also at start: a crash may have interrupted deletions.
  for (const sweep of sweeps) void sweep.run();
  lifecycle.onStop("sweeps", async () => {
    isStopping = true;
    await Promise.all(sweeps.map((sweep) => sweep.stop()));
  });
  return {
    kv: unlisted ? { ...kv, namespaces: unlistedNamespaces(kv.namespaces) } : kv,
    r2: unlisted ? { ...r2, bucketList: unlistedBuckets(r2.bucketList) } : r2,
    d1,
    processServices: { [D1_CALLS]: serveDatabases(d1.databases, { log }) },
    queue,
    secretsStore: {
      ...createSecretsStoreService({ store: secretsStore, log }),
      ...(secretsStore !== undefined && { store: secretsStore }),
    },
    ai,
    aiGateway,
    rateLimit: createRateLimitService({ clock }),
    analytics: { ...analytics, ...createAnalyticsService({ analytics, log }) },
  };

  function createAi(): Pick<Bindings, "ai" | "aiGateway"> {
    const providers = settings === undefined ? new Map<string, never>() : aiProvidersOf(settings);
    const gateways = createAiGateways({ db, clock });
    const proxy = createAiGatewayProxy({ providers, gateways, clock, ids, log });
    const find = createGatewayLookup({ gateways, createsAll: unlisted });
    const gateway = createAiGatewayBinding({ proxy, gateways, find, publicUrl: settings?.http?.public_url ?? "" });
    const server = settings && aiServerOf(settings);
    return {
      ai: createAiService({ server, gateway, isOffered: providers.size > 0, log }),
      aiGateway: { gateways, proxy, find },
    };
  }

  function createR2(): Bindings["r2"] {
    const settings = createBucketSettings({ db, clock, ids });
    const { onChange } = createR2Notifications({ settings, ...queue, clock, log });
    return {
      ...createR2Service({ db, objects, clock, ids, log, onChange, onRemoved: settings.removeBucket }),
      settings,
    };
  }

  function createD1(): Bindings["d1"] {
    const { primary } = d1Runs;
    const folder = join(primary?.directory ?? directory, "d1");
    const databases =
      primary === undefined
        ? createD1Databases({ directory: folder, clock, log })
        : createRemoteDatabases(primary, { log });
    // A process without the database files leaves their deletion to the process that stores them.
    const accountDatabases = createD1DatabaseList({ db, ...(d1Runs.files && { databases }), clock, ids, log });
    const list = unlisted ? unlistedDatabases(accountDatabases) : accountDatabases;
    const service = createD1Service({ directory: folder, databases, list, clock, log });
    const runsTransfers = primary === undefined && d1Runs.transfers;
    // Imports and exports that another process accepts run in the process that owns the files.
    const home = d1Runs.transfers ? { home: d1DirectoryId(folder, ids) } : {};
    const transferOptions = { ...home, ...(runsTransfers && { databases }) };
    return {
      ...service,
      list,
      transfers: createD1Transfers({ db, objects, jobs, events, list, ...transferOptions, clock, ids, log }),
    };
  }
}
