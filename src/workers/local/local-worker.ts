import type { Script } from "../scripts/port.ts";
import type { Binding, WorkerScript } from "../scripts/script.ts";

/** A worker of a development server with its running version. */
export interface LocalWorker {
  name: string;
  /** The bindings of the current configuration. */
  bindings: Binding[];
  compatibilityDate: string;
  compatibilityFlags: string[];
  crons: string[];
  tailConsumers: string[];
  hasAssets: boolean;
  /** Undefined if no version is running. */
  build:
    | (Pick<WorkerScript, "version" | "format" | "main"> & { digest: string; bytes: number; ms: number })
    | undefined;
  /** When the running version was deployed, in epoch milliseconds. */
  builtAt: number | undefined;
}

/** The owner of all local workers. */
export interface LocalOwner {
  account: string;
  user: { id: string; email: string };
}

/** Returns a local worker as a script of the account, without stored versions. */
export function toLocalScript(
  { name, bindings, build, builtAt, compatibilityDate, compatibilityFlags, tailConsumers, hasAssets }: LocalWorker,
  { account, user }: LocalOwner,
  startedAt: Date,
): Script {
  const at = builtAt === undefined ? startedAt : new Date(builtAt);
  const author = { ...user, source: "dev" };
  return {
    id: name,
    account,
    name,
    createdAt: startedAt,
    modifiedAt: at,
    subdomainEnabled: false,
    previewsEnabled: false,
    tags: [],
    logpush: false,
    observability: null,
    tailConsumers: tailConsumers.map((service) => ({ service })),
    usageModel: "standard",
    placement: null,
    latest: {
      id: build?.version ?? "",
      scriptId: name,
      account,
      script: name,
      number: 1,
      author,
      createdAt: at,
      etag: build?.digest ?? "",
      format: build?.format ?? "modules",
      main: build?.main ?? "",
      bindings: bindings.map((binding) => (binding.type === "secret_text" ? { ...binding, text: "" } : binding)),
      handlers: [],
      compatibilityDate,
      compatibilityFlags,
      annotations: {},
      startupMs: build?.ms ?? 0,
      size: build?.bytes ?? 0,
      hasAssets,
    },
  };
}

/** Names of the workers that send to queues, by queue. */
export function producersOf(workers: readonly LocalWorker[]): Map<string, string[]> {
  const producers = new Map<string, string[]>();
  for (const { name, bindings } of workers)
    for (const binding of bindings)
      if (binding.type === "queue")
        producers.set(binding.queue_name, [...(producers.get(binding.queue_name) ?? []), name]);
  return producers;
}
