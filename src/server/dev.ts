import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import {
  claimedBy,
  createDevHttp,
  createReceive,
  createStories,
  devErrors,
  openDevWorker,
  workerFor,
  type DevWorker,
  type Stories,
} from "../dev/index.ts";
import {
  createLifecycle,
  isLoopback,
  messageOf,
  randomIds,
  systemClock,
  UserError,
  type Basics,
  type Lifecycle,
} from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import { createLocalMail, mailErrors, type SmtpListener, type SmtpListenerOptions } from "../mail/index.ts";
import { openStore } from "../store/index.ts";
import type { Stream } from "../stream/index.ts";
import {
  createBindings,
  createWorkerRuntime,
  meterWorkers,
  devEgress,
  type Project,
  type RuntimeLimits,
  type WorkerRuntime,
} from "../workers/index.ts";
import { composeDevVideo } from "./dev-video.ts";
import { lockDataDirectory } from "./data-lock.ts";
import type { DevOptions, DevServer } from "./dev-options.ts";
import { migrations } from "./migrations.ts";

const SMTP_PORTS = [2525, 2526, 2527, 2528, 2529, 2530, 2531, 2532, 2533, 2534];
/** Number of earlier runs whose `.eml` files are retained. */
const KEPT_RUNS = 50;

/**
 * Starts the development server and resolves when it accepts mail and requests. A worker that fails to build is
 * reported but does not prevent the start. Rejects with UserError (an AggregateError for several configurations) if a
 * configuration is invalid, or if a port or the data directory is in use.
 */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const {
    cwd,
    env = {},
    configs = [],
    environment,
    watch = true,
    report,
    log,
    clock = systemClock,
    ids = randomIds,
    limits = {},
  } = options;
  const lifecycle = createLifecycle({ log });
  const basics: Basics = { clock, ids, log, lifecycle };
  sayWhyTheEndTakesLong(lifecycle, report);
  try {
    // Workers need a runtime to be deployed, but the runtime's settings come from the workers' configuration.
    const late: { runtime?: WorkerRuntime; stream?: Stream["binding"]; url?: string } = {};
    const deploy: WorkerRuntime["deploy"] = (script, how) => late.runtime!.deploy(script, how);
    const open = (config?: string) =>
      openDevWorker({ cwd, config, environment, runtime: { deploy }, report, clock, watch });
    const workers = await allOrEveryReason(configs.length === 0 ? [open()] : configs.map(open));
    const closeProjects = async () => void (await Promise.all(workers.map((worker) => worker.close())));
    lifecycle.onStop("projects", closeProjects);
    const byName = indexByName(workers);
    const first = workers[0]!;
    // The command line overrides the project's file, and the file overrides the environment.
    const { settings } = await readSettings({ cwd, env });
    const host = options.host ?? first.project.dev.ip ?? settings.http.host;
    const smtpPort =
      options.smtpPort ??
      first.project.reelpost.smtpPort ??
      (env.REELPOST_SMTP_PORT === undefined ? undefined : settings.smtp.port);

    const dataDir = resolve(
      cwd,
      options.dataDir ??
        (env.REELPOST_DATA_DIR === undefined ? join(first.project.root, ".reelpost") : settings.data_dir),
    );
    prepareDataDirectory(dataDir);
    const lock = lockDataDirectory(dataDir);
    lifecycle.onStop("lock", lock.release);
    const mailDir = newRunFolder(join(dataDir, "mail"), clock.now());

    const claims = () => workers.map(({ name, project }) => ({ worker: name, addresses: project.addresses }));
    let stories: Stories | undefined;
    // Stopped after the workers, so that their last events are printed.
    lifecycle.onStop("stories", () => stories?.close());
    const store = await openStore(dataDir, { migrations }, basics);
    const mail = createLocalMail(
      {
        mailDirectory: mailDir,
        spoolDirectory: join(dataDir, "spool"),
        maxMessageBytes: limits.messageBytes,
        onCaptured: (captured) => stories?.captured(captured),
        route: (recipient) => ({ kind: "worker", script: workerFor(recipient, claims()) }),
        rules: {
          isVerified: (address) => isVerified(address, workers),
          leadsTo: (address, script) => claimedBy(address, claims()) === script,
        },
      },
      basics,
    );
    const processes = createWorkerRuntime(
      {
        bindings: createBindings(store, dataDir, basics),
        sendEmail: () => mail.binding,
        stream: () => late.stream!,
        settings,
        dataDirectory: dataDir,
        egress: devEgress(first.project.reelpost.egress),
        limits: { ...widestLimits(workers.map(({ project }) => project)), ...limits.runtime },
      },
      basics,
    );
    stories = createStories({
      runtime: processes,
      report,
      clock,
      explain: (name, exception) => byName.get(name)?.explain(exception),
    });
    const { runtime } = stories;
    const receiver = mail.receiver(runtime);
    late.runtime = runtime;
    const metrics = meterWorkers(runtime);
    lifecycle.onStop("metrics", () => metrics.close());
    const video = composeDevVideo({ store, dataDir, settings, base: () => late.url ?? "" }, basics);
    late.stream = video.binding;
    await Promise.all(workers.map((worker) => worker.rebuild("start")));

    const names = workers.map(({ name }) => name);
    const unavailable = (name: string) => byName.get(name)?.unavailable;
    const receive = createReceive({ receiver, spool: mail.spool, workers: names, unavailable, ids });
    const http = createDevHttp({
      runtime,
      receive,
      workers: names,
      unavailable,
      log,
      graceMs: limits.graceMs,
      metrics: metrics.render,
      video: video.handle,
      health: () => ({
        workers: workers.map(({ name, build, unavailable: why }) => ({
          name,
          version: build?.script.version ?? null,
          ...(why !== undefined && { problem: why }),
        })),
      }),
    });
    const { url, port } = await http.listen({
      host,
      port: options.port ?? first.project.dev.port ?? settings.http.port,
    });
    late.url = url;
    lifecycle.onStop("http", () => http.close());
    if (!isLoopback(host))
      report({
        event: "warning",
        text: `Other machines can reach ${host} and run your worker`,
      });
    const onRefused: SmtpListenerOptions["onRefused"] = ({ from, to }, { code, enhanced, text }) =>
      report({ event: "refused", from, to, reason: `${code} ${enhanced} ${text}` });
    const smtp = await listenForMail(
      smtpPort,
      (port) => mail.listen(receiver, { host, port, onRefused, closeMs: limits.graceMs ?? 5000 }),
      { host, report },
    );
    if (smtp !== undefined) lifecycle.onStop("smtp", () => smtp.close());
    // Runs first, so that no rebuild starts during shutdown.
    lifecycle.onStop("rebuilding", closeProjects);

    return {
      url,
      port,
      smtp: smtp && { host: smtp.host, port: smtp.port },
      dataDir,
      mailDir,
      get workers() {
        return workers.map(({ name, project }) => ({
          name,
          config: relative(cwd, project.configFile),
          bindings: project.bindings,
        }));
      },
      rebuild: async () => void (await Promise.all(workers.map((worker) => worker.rebuild("key")))),
      close: () => lifecycle.stop(),
    };
  } catch (err) {
    await lifecycle.stop();
    throw err;
  }
}

/** With several configurations, rejects with the errors of all of them. */
async function allOrEveryReason<T>(promises: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const reasons = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (reasons.length > 1) throw new AggregateError(reasons, reasons.map(messageOf).join("\n"));
  if (reasons.length === 1) throw reasons[0];
  return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

function indexByName(workers: DevWorker[]): Map<string, DevWorker> {
  const byName = new Map<string, DevWorker>();
  for (const worker of workers) {
    const other = byName.get(worker.name);
    if (other !== undefined)
      throw devErrors.twoWorkersOneName({
        name: worker.name,
        first: other.project.configFile,
        second: worker.project.configFile,
      });
    byName.set(worker.name, worker);
  }
  return byName;
}

function prepareDataDirectory(directory: string) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // The folder is inside a project but contains no source code.
  writeFileSync(join(directory, ".gitignore"), "*\n");
}

/** Creates a folder for the mail of this run, named after its start time; deletes the oldest runs. */
function newRunFolder(parent: string, now: number): string {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const runs = readdirSync(parent).sort();
  for (const old of runs.slice(0, Math.max(0, runs.length - KEPT_RUNS)))
    rmSync(join(parent, old), { recursive: true, force: true });
  return join(parent, new Date(now).toISOString().replaceAll(":", "-"));
}

/** Listens on the requested port, or on the first free default port. */
async function listenForMail(
  port: DevOptions["smtpPort"],
  listen: (port: number) => Promise<SmtpListener>,
  { host, report }: { host: string; report: DevOptions["report"] },
): Promise<SmtpListener | undefined> {
  if (port === false) return undefined;
  if (port !== undefined) return listen(port);
  for (const candidate of SMTP_PORTS) {
    try {
      const listener = await listen(candidate);
      if (candidate !== SMTP_PORTS[0])
        report({ event: "notice", text: `Port ${SMTP_PORTS[0]} is in use; SMTP listens on ${candidate}` });
      return listener;
    } catch (err) {
      if (!isPortBusy(err)) throw err;
    }
  }
  throw mailErrors.listenFailed({
    host,
    port: `${SMTP_PORTS[0]}-${SMTP_PORTS.at(-1)}`,
    reason: "all of them are in use",
  });
}

const QUIET_END_MS = 500;

/** Registered first, so it stops last, when nothing else is pending. */
function sayWhyTheEndTakesLong(lifecycle: Lifecycle, report: DevOptions["report"]) {
  let timer: NodeJS.Timeout | undefined;
  lifecycle.stopping.addEventListener("abort", () => {
    timer = setTimeout(
      () =>
        report({
          event: "notice",
          text: "Stopping after running work finishes, within a few seconds. Press Ctrl-C to stop immediately.",
        }),
      QUIET_END_MS,
    );
  });
  lifecycle.onStop("notice", () => clearTimeout(timer));
}

const isPortBusy = (err: unknown) =>
  err instanceof UserError && (err.cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";

/** Without a list every address counts as verified: no mail is delivered from this server. */
function isVerified(address: string, workers: DevWorker[]): boolean {
  const lists = workers.map(({ project }) => project.reelpost.verifiedAddresses);
  return lists.some(
    (list) => list === undefined || list.some((known) => known.toLowerCase() === address.toLowerCase()),
  );
}

/** One set of limits for all workers: the most permissive of their configurations. */
function widestLimits(projects: Project[]): Partial<RuntimeLimits> {
  const widest: Partial<RuntimeLimits> = {};
  for (const { reelpost } of projects) {
    for (const [name, value] of Object.entries(reelpost.limits) as [keyof RuntimeLimits, number][])
      widest[name] = Math.max(widest[name] ?? 0, value);
  }
  return widest;
}
