import { type Basics, type PageRequest, pageOf } from "../../kernel/index.ts";
import type { Store } from "../../store/index.ts";
import type { Analytics } from "../bindings/analytics/index.ts";
import type { Bindings } from "../bindings/bindings.ts";
import type { Queues, QueueMessages } from "../queues/index.ts";
import type { WorkerRuntime } from "../runtime/port.ts";
import type { Scripts } from "../scripts/port.ts";
import { createTails, type Tails } from "../tails/index.ts";
import { withConfiguredLists } from "./configured-lists.ts";
import { producersOf, toLocalScript, type LocalOwner, type LocalWorker } from "./local-worker.ts";

interface LocalPlatformDeps {
  store: Pick<Store, "db" | "events">;
  /** Storage of the development server: namespaces, buckets and queues exist without being created. */
  bindings: Bindings;
  runtime: Pick<WorkerRuntime, "onInvocation">;
  workers(): readonly LocalWorker[];
  owner: LocalOwner;
}

/** The workers of a development server and their resources, as the API presents them: in one account. */
export interface LocalPlatform {
  /** Lists contain the resources of the configurations; every other id exists, too. */
  storage: Pick<Bindings, "kv" | "r2" | "d1">;
  scripts: Pick<Scripts, "get" | "list" | "schedules" | "queueProducers">;
  queues: Queues;
  messages: QueueMessages;
  analytics: Pick<Analytics, "query">;
  tails: Tails;
  /** Called with the name of the worker after each invocation. Returns the unsubscribe function. */
  onInvocation(listener: (script: string) => void): () => void;
}

/** Account under which queues and data points are stored in development. */
const STORED_ACCOUNT = "";

export function createLocalPlatform(
  { store: { db, events }, bindings, runtime, workers, owner }: LocalPlatformDeps,
  { clock, ids, log, lifecycle }: Basics,
): LocalPlatform {
  const startedAt = new Date(clock.now());
  const tails = createTails({ db, events, clock, ids, log });
  lifecycle.onStop("tails", () => tails.close());
  // The runtime has no accounts, so this adds the account of the owner.
  const stopTails = tails.watch({
    onInvocation: (listener) =>
      runtime.onInvocation((invocation) => listener({ ...invocation, account: owner.account })),
  });
  lifecycle.onStop("tails of invocations", stopTails);
  const scripts = () =>
    workers()
      .map((worker) => toLocalScript(worker, owner, startedAt))
      .sort((a, b) => (a.name < b.name ? -1 : 1));

  return {
    storage: withConfiguredLists(bindings, () => workers().flatMap((worker) => worker.bindings)),
    scripts: {
      get: async (_, name) => scripts().find((script) => script.name === name),
      list: async (_: string, page?: PageRequest) => pageOf(scripts(), page ?? { page: 1, perPage: workers().length }),
      schedules: async (_, name) =>
        (workers().find((worker) => worker.name === name)?.crons ?? []).map((cron) => ({
          cron,
          createdAt: startedAt,
          modifiedAt: startedAt,
        })),
      queueProducers: async () => producersOf(workers()),
    },
    queues: inStoredAccount(bindings.queue.queues),
    messages: bindings.queue.messages,
    analytics: { query: (_, sql) => bindings.analytics.query(STORED_ACCOUNT, sql) },
    tails,
    onInvocation: (listener) => runtime.onInvocation(({ script }) => listener(script)),
  };
}

function inStoredAccount(queues: Queues): Queues {
  const own = STORED_ACCOUNT;
  return {
    ...queues,
    create: (_, ...rest) => queues.create(own, ...rest),
    ensure: (_, ...rest) => queues.ensure(own, ...rest),
    list: (_, ...rest) => queues.list(own, ...rest),
    get: (_, ...rest) => queues.get(own, ...rest),
    byName: (_, ...rest) => queues.byName(own, ...rest),
    exists: (_, ...rest) => queues.exists(own, ...rest),
    update: (_, ...rest) => queues.update(own, ...rest),
    delete: (_, ...rest) => queues.delete(own, ...rest),
  };
}
