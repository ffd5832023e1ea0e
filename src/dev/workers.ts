import { relative } from "node:path";
import { messageOf, type Basics } from "../kernel/index.ts";
import { type Binding, type ThrownException } from "../workers/index.ts";
import { localObjects, type RuntimeLimits, type LocalWorker } from "../workers/local/index.ts";
import { type Project } from "../workers/project/index.ts";
import { devErrors } from "./errors.ts";
import { claimedBy, isVerified, workerFor } from "./recipients.ts";
import { openDevWorker, type Deployer, type DevWorker, type DevWorkerOptions } from "./worker.ts";

/** The workers of a development server, one per configuration file. The first one is the default. */
export interface DevWorkers {
  readonly names: readonly string[];
  /** The configuration of the default worker. Some of its fields apply to the whole server. */
  readonly defaultProject: Project;
  /** Limits for all workers: for each limit, the largest value of any configuration. */
  readonly limits: Partial<RuntimeLimits>;
  /** Why a worker cannot run; undefined if it can. */
  unavailable(name: string): string | undefined;
  /** Returns a warning about the build that handles a message. Undefined if the latest build works. */
  buildWarning(name: string): string | undefined;
  /** Help for newcomers about an exception of a worker. */
  explain(name: string, exception: ThrownException): string | undefined;
  /** Names of the worker's tail workers in its current configuration. */
  tailConsumersOf(name: string): readonly string[];
  /** Returns the worker that receives mail for an address. */
  workerFor(recipient: string): string;
  /** True if the configuration of this worker, and no earlier one, lists the address. */
  claims(name: string, address: string): boolean;
  /** True if the worker may send to the address. */
  isVerified(address: string, worker: { script: string }): boolean;
  /** For users: names, configuration files relative to the working directory, and bindings. */
  describe(): { name: string; config: string; bindings: Binding[] }[];
  /** For the API. */
  list(): LocalWorker[];
  /** For monitoring: the running versions, and why a worker has none. */
  status(): { name: string; version: string | null; problem?: string }[];
  /** Builds the first version of each worker and deploys it. A failed build is reported. */
  start(runtime: Deployer): Promise<void>;
  /** Reads all configurations again and builds every worker. */
  rebuild(): Promise<void>;
  /** Starts no further builds; resolves when the current ones have ended. */
  close(): Promise<void>;
}

interface Options extends Omit<DevWorkerOptions, "config" | "clock"> {
  /** If empty, the file found in `cwd` or a parent folder. */
  configs: readonly string[];
}

/**
 * Reads the configurations. Throws UserError if one is invalid, AggregateError if several are, and twoWorkersOneName if
 * they use one name twice.
 */
export async function openDevWorkers(
  { configs, ...options }: Options,
  { clock, lifecycle }: Pick<Basics, "clock" | "lifecycle">,
): Promise<DevWorkers> {
  let workers: DevWorker[] = [];
  const namespacesOf = (name: string) => {
    const otherWorker = workers.find((worker) => worker.name === name);
    return (otherWorker && localObjects(otherWorker.project)?.namespaces) ?? [];
  };
  const results = await Promise.allSettled(
    (configs.length === 0 ? [undefined] : configs).map((config) =>
      openDevWorker({ ...options, config, clock, namespacesOf }),
    ),
  );
  workers = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const close = async () => void (await Promise.all(workers.map((worker) => worker.close())));
  lifecycle.onStop("projects", close);
  throwErrors(results);
  const byName = indexByName(workers);
  const projects = () => workers.map(({ project }) => project);
  const claims = () => workers.map(({ name, project }) => ({ worker: name, addresses: project.addresses }));

  return {
    names: workers.map(({ name }) => name),
    get defaultProject() {
      return workers[0]!.project;
    },
    get limits() {
      return largestLimits(projects().map(({ reelpost }) => reelpost.limits));
    },
    unavailable: (name) => byName.get(name)?.unavailable,
    buildWarning: (name) => buildWarning(byName.get(name)),
    explain: (name, exception) => byName.get(name)?.explain(exception),
    tailConsumersOf: (name) => byName.get(name)?.project.tailConsumers ?? [],
    workerFor: (recipient) => workerFor(recipient, claims()),
    claims: (name, address) => claimedBy(address, claims()) === name,
    isVerified: (address, { script }) => isVerified(address, byName.get(script)?.project.reelpost.verifiedAddresses),
    describe: () =>
      workers.map(({ name, project: { configFile, bindings } }) => ({
        name,
        config: relative(options.cwd, configFile),
        bindings,
      })),
    list: () => workers.map(localWorkerOf),
    status: () =>
      workers.map(({ name, build, unavailable: problem }) => ({
        name,
        version: build?.script.version ?? null,
        ...(problem !== undefined && { problem }),
      })),
    start: async (runtime) => void (await Promise.all(workers.map((worker) => worker.start(runtime)))),
    rebuild: async () => void (await Promise.all(workers.map((worker) => worker.rebuild()))),
    close,
  };
}

function localWorkerOf({ name, project, build, builtAt }: DevWorker): LocalWorker {
  const { bindings, compatibilityDate, compatibilityFlags, tailConsumers, assets } = project;
  return {
    name,
    bindings,
    compatibilityDate,
    compatibilityFlags,
    crons: project.deploy.crons ?? [],
    tailConsumers,
    hasAssets: assets !== undefined,
    build: build && {
      version: build.script.version,
      digest: build.digest,
      format: build.script.format,
      main: build.script.main,
      bytes: build.bytes,
      ms: build.ms,
    },
    builtAt,
  };
}

function buildWarning(worker: DevWorker | undefined): string | undefined {
  if (worker?.isOutdated === true) return "the latest build failed, so the last working build handled this message";
  const unavailableReason = worker?.unavailable;
  return unavailableReason === undefined ? undefined : `the worker has no working build: ${unavailableReason}`;
}

function throwErrors(results: PromiseSettledResult<unknown>[]): void {
  const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (reasons.length > 1) throw new AggregateError(reasons, reasons.map(messageOf).join("\n"));
  if (reasons.length === 1) throw reasons[0];
}

function indexByName(workers: DevWorker[]): Map<string, DevWorker> {
  const byName = new Map<string, DevWorker>();
  for (const worker of workers) {
    const existingWorker = byName.get(worker.name);
    if (existingWorker !== undefined)
      throw devErrors.twoWorkersOneName({
        name: worker.name,
        first: existingWorker.project.configFile,
        second: worker.project.configFile,
      });
    byName.set(worker.name, worker);
  }
  return byName;
}

/** The processes of all workers have the same limits. */
export function largestLimits(limitSets: Partial<RuntimeLimits>[]): Partial<RuntimeLimits> {
  const largest: Partial<RuntimeLimits> = {};
  for (const limits of limitSets) {
    for (const [name, value] of Object.entries(limits) as [keyof RuntimeLimits, number][])
      largest[name] = Math.max(largest[name] ?? 0, value);
  }
  return largest;
}
