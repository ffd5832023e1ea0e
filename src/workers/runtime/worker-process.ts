import type { IncomingMessage } from "node:http";
import { messageOf, type Log } from "../../kernel/index.ts";
import type { BindingServices } from "../bindings/service.ts";
import type { ObjectStorage, OpenObjects } from "../objects/storage.ts";
import type { WorkerScript } from "../scripts/script.ts";
import type { Site } from "./response-headers.ts";
import { startBindingServer, type SocketServer } from "./binding-server.ts";
import { generateConfig, type Sockets } from "./capnp.ts";
import { createDispatchClient } from "./dispatch.ts";
import { startEgressProxy } from "./egress/proxy.ts";
import type { EgressCheck } from "./egress/policy.ts";
import type { ClientOf } from "./client.ts";
import type { IsolateModules } from "./isolate-modules.ts";
import { createInvocations, identityOf } from "./invocations.ts";
import type { Identities } from "./identities.ts";
import { objectsPath, type Launcher, type WorkerdProcess } from "./launch.ts";
import type { LiveMessages } from "./live-messages.ts";
import { createHttpPassthrough } from "./passthrough.ts";
import type { Invocation, InvocationOutcome, WorkerUsage } from "./port.ts";
import { createProcessEvents } from "./process-events.ts";
import type { WorkerProcess } from "./process-port.ts";
import type { RunFolders } from "./run-folders.ts";
import { OBJECTS_ENTRYPOINT } from "./remote-bindings.ts";
import { DEFAULT_ENTRYPOINT } from "./service-calls/entrypoints.ts";
import { createProcessEntrypoints } from "./service-calls/process-entrypoints.ts";
import { createStackMapper } from "./stacks.ts";
import { isAlarm, isObjectEvent } from "./tail-items.ts";
import {
  createUsageMeter,
  isMainThreadAsleep,
  noUsageMeter,
  readMainThreadUs,
  type UsageMeter,
} from "./usage-meter.ts";
import { readProcessUsage, watchProcess, type RunningInvocation, type RuntimeLimits } from "./watchdog.ts";

/** Shared by all worker processes of a server. */
export interface WorkerProcessDeps {
  launcher: Launcher;
  folders: RunFolders;
  identities: Identities;
  inside: IsolateModules;
  services: BindingServices;
  messages: LiveMessages;
  egress: EgressCheck;
  /** Storage of Durable Objects. */
  objects: Pick<ObjectStorage, "open">;
  limits: RuntimeLimits;
  /** Maximum number of messages that one process handles concurrently; further ones wait. */
  concurrency: number;
  client: ClientOf;
  /**
   * Returns the site that serves a worker for the host of a request; undefined if the worker does not share the server
   * with others.
   */
  siteOf(request: IncomingMessage, script: string): Site | undefined;
  emit(invocation: Invocation): void;
  emitUsage(usage: WorkerUsage): void;
  log: Log;
}

/**
 * How long the process may take to exit after SIGTERM. Connections that remain after draining are open WebSockets, and
 * are then closed.
 */
const SIGTERM_GRACE_MS = 3000;

/** How long work may continue when another process needs the Durable Objects: a deploy interrupts them only briefly. */
const HANDOVER_MS = 5000;
/**
 * How long the process may then take to exit after SIGTERM. Short, because stored data does not depend on an orderly
 * exit.
 */
const HANDOVER_GRACE_MS = 500;

/** Time limit for a start. A process starts to listen after about 50 ms, or a few seconds on a busy machine. */
const STARTUP_MS = 15_000;
/** CPU time allowed for a start: at least that of the hosted service, and at least the limit of an invocation. */
const STARTUP_CPU_MS = 1000;

/**
 * Starts a process and resolves when it is listening. Rejects with workerd's error message if it rejects the script.
 */
export async function startWorkerProcess(
  requestedScript: WorkerScript,
  deps: WorkerProcessDeps,
): Promise<WorkerProcess> {
  const { launcher, folders, identities, inside, services, messages, egress, emit, emitUsage, log } = deps;
  const script = services.ai.isOffered ? requestedScript : withoutAiBindings(requestedScript);
  // A script can lower the operator's limits but not raise them.
  const limits = { ...deps.limits, cpuMs: Math.min(script.limits?.cpuMs ?? Infinity, deps.limits.cpuMs) };
  const mapStack = createStackMapper(script);
  const invocations = createInvocations({
    script,
    mapStack,
    emit,
    meter: { begin: () => (usage ?? noUsageMeter).begin() },
  });
  let lastUsed = performance.now();
  let isRetired = false;
  let death: InvocationOutcome | undefined;

  const socketNames: Sockets = {
    mail: "mail.sock",
    http: "http.sock",
    services: [
      DEFAULT_ENTRYPOINT,
      ...(script.objects === undefined ? [] : [{ name: OBJECTS_ENTRYPOINT }]),
      ...(script.entrypoints ?? []),
    ].map((entrypoint, i) => ({
      address: `service${i}.sock`,
      entrypoint,
    })),
    bindings: "bindings.sock",
    egress: "egress.sock",
  };
  const listening = [socketNames.mail, socketNames.http, ...socketNames.services.map(({ address }) => address)];
  const { identity, release: releaseIdentity } = identities.acquire(script.account);
  let stopSoon = () => kill("exception", "Another process of the Worker took over its Durable Objects.");
  const openedObjects = await openObjects();
  const folder = createFolder();
  const servers: SocketServer[] = [];
  let workerd: WorkerdProcess | undefined;
  const onActivity = () => watch?.activity();
  let watch: ReturnType<typeof watchProcess> | undefined;
  let usage: UsageMeter | undefined;
  try {
    workerd = launcher.launch(folder, listening.length, { identity, memoryMb: limits.rssMb, objects: openedObjects });
    const { pid } = workerd;
    // The top level of a module can loop too. It has a separate limit, because starting workerd also uses CPU time.
    const watched = { usage: () => readProcessUsage(pid), kill };
    watch = watchProcess(watched, { ...limits, cpuMs: Math.max(limits.cpuMs, STARTUP_CPU_MS) });
    servers.push(
      await startBindingServer({
        script,
        services,
        socket: folder.socket(socketNames.bindings),
        gid: identity?.gid,
        onTail(items) {
          for (const item of items) if (isObjectEvent(item)) countObjectEvent({ isAlarm: isAlarm(item) });
          invocations.tail(items);
        },
        onActivity,
        onCall: () => usage?.subrequest(),
        isIdle: () => workerProcess.busy === 0,
        log,
      }),
    );
    servers.push(
      await startEgressProxy({
        socket: folder.socket(socketNames.egress),
        gid: identity?.gid,
        check: egress,
        actions: messages.handle,
        onActivity,
        onFetch: () => usage?.subrequest(),
      }),
    );
    const timer = setTimeout(
      () => kill("exceededWallTime", `Worker exceeded startup time limit of ${STARTUP_MS} ms.`),
      STARTUP_MS,
    );
    await workerd.ready.finally(() => clearTimeout(timer));
    watch.stop();
    watch = watchProcess(watched, limits);
    usage = createUsageMeter({
      cpuUs: () => readMainThreadUs(pid),
      emit: (used) => emitUsage({ ...identityOf(script), ...used }),
    });
    for (const name of listening) folder.takeSocket(name);
  } catch (err) {
    workerd?.kill("SIGKILL");
    watch?.stop();
    // The process uses its files until it has ended.
    await workerd?.exited;
    release();
    throw death?.exception === undefined ? err : new Error(death.exception.message, { cause: err });
  }

  const dispatch = createDispatchClient({
    socketPath: folder.socket(socketNames.mail),
    concurrency: deps.concurrency,
  });
  const passthrough = createHttpPassthrough({
    socketPath: folder.socket(socketNames.http),
    client: deps.client,
    siteOf: (request) => deps.siteOf(request, script.name),
    findExitCause,
    errorPages: true,
  });
  const entrypoints = createProcessEntrypoints({
    sockets: socketNames.services.map(({ address, entrypoint }) => ({ path: folder.socket(address), entrypoint })),
    invocations,
    countInvocation: runCounted,
    watch: () => watch!,
    isAsleep: () => isMainThreadAsleep(pid),
    onUsed: () => void (lastUsed = performance.now()),
    findExitCause,
  });
  const exitPromise = workerd.exited.then((exit) => {
    death ??= causeFromExit(exit.stderr, exit.signal ?? `status ${exit.code}`);
    watch!.stop();
    dispatch.close();
    passthrough.close();
    entrypoints.close();
    invocations.abandon();
    usage?.stop();
    release();
  });

  function kill(outcome: InvocationOutcome["outcome"], message: string) {
    death ??= { outcome, exception: { name: "Error", message } };
    log.warn({ script: script.name, pid: workerd?.pid, outcome }, message);
    workerd?.kill("SIGKILL");
  }

  function release() {
    for (const server of servers) server.close();
    folder.remove();
    releaseIdentity();
    // Alarms start the process again. A process that was killed or has crashed must not get a new CPU window
    // immediately.
    openedObjects?.release({ pauseMs: isRetired ? 0 : (watch?.usedMs() ?? 0) });
  }

  /**
   * Records activity for events that the server does not start, such as alarms and messages of hibernating WebSockets.
   */
  function countObjectEvent(event: { isAlarm: boolean }) {
    lastUsed = performance.now();
    watch?.objectEvent(event);
  }

  async function openObjects(): Promise<OpenObjects | undefined> {
    const { objects, name, account } = script;
    if (objects === undefined || objects.isTrial) return undefined;
    try {
      const openedStorage = await deps.objects.open({
        worker: { account, name, objects },
        user: identity,
        onReleaseRequested: () => stopSoon(),
      });
      socketNames.objects = objectsPath(openedStorage.path);
      return openedStorage;
    } catch (err) {
      releaseIdentity();
      throw err;
    }
  }

  function createFolder() {
    try {
      return folders.create(generateConfig(script, inside, socketNames, limits.heapMb), identity);
    } catch (err) {
      releaseIdentity();
      openedObjects?.release();
      throw err;
    }
  }

  /** The closed connection and the exit of the process are reported separately, so this waits briefly for the exit. */
  async function findExitCause(err: unknown): Promise<InvocationOutcome> {
    await Promise.race([exitPromise, new Promise((resolve) => void setTimeout(resolve, 500).unref())]);
    return (
      death ?? {
        outcome: "exception",
        exception: { name: "Error", message: `the worker did not respond: ${messageOf(err)}` },
      }
    );
  }

  /** Counts a running invocation until ended() is called. */
  function beginRun(options?: { longLived?: boolean }): RunningInvocation {
    const { answered, ended } = watch!.begin(options);
    lastUsed = performance.now();
    return {
      answered,
      ended() {
        lastUsed = performance.now();
        ended();
      },
    };
  }

  async function runCounted<Result>(run: () => Promise<Result>): Promise<Result> {
    const runningInvocation = beginRun();
    try {
      return await run();
    } finally {
      runningInvocation.ended();
    }
  }

  const waitForDrain = async () => void (await Promise.all([invocations.drained(), entrypoints.drained()]));

  const { pid } = workerd;
  const events = createProcessEvents({
    pid,
    dispatch,
    passthrough,
    invocations,
    messages,
    limits,
    client: deps.client,
    mapStack,
    beginRun,
    runCounted,
    kill,
    sampledDeath() {
      watch!.sample();
      return death;
    },
    findExitCause,
  });

  const workerProcess: WorkerProcess = {
    pid,
    get busy() {
      return invocations.count + entrypoints.busy;
    },
    get lastUsed() {
      return lastUsed;
    },
    get alive() {
      return death === undefined;
    },
    get retired() {
      return isRetired;
    },
    exited: exitPromise,
    get maxInvocationMs() {
      return events.maxInvocationMs;
    },
    email: events.email,
    fetch: events.fetch,
    scheduled: events.scheduled,
    queue: events.queue,
    tail: events.tail,
    upgrade: events.upgrade,
    readExports: () => dispatch.readExports(STARTUP_MS),
    entrypoint: entrypoints.get,
    drained: waitForDrain,
    async stop(graceMs, { patienceMs = SIGTERM_GRACE_MS } = {}) {
      isRetired = true;
      const timer = setTimeout(() => workerd.kill("SIGKILL"), graceMs);
      // A caller that has just received this process will have begun its invocation by the next event loop turn.
      await new Promise((resolve) => void setImmediate(resolve));
      await Promise.race([Promise.all([waitForDrain(), entrypoints.retire()]), exitPromise]);
      // The CPU time of an ended process cannot be read.
      usage?.sample();
      // On SIGTERM workerd accepts no new connections, completes its running requests, and exits.
      workerd.kill("SIGTERM");
      const killTimer = setTimeout(() => workerd.kill("SIGKILL"), patienceMs);
      await exitPromise;
      clearTimeout(timer);
      clearTimeout(killTimer);
    },
  };
  stopSoon = () => void workerProcess.stop(HANDOVER_MS, { patienceMs: HANDOVER_GRACE_MS });
  return workerProcess;
}

/** Removes `ai` bindings: without an AI server, they are undefined. */
const withoutAiBindings = (script: WorkerScript): WorkerScript => ({
  ...script,
  bindings: script.bindings.filter(({ type }) => type !== "ai"),
});

/** Returns the cause of an exit: V8 ends the process when the heap limit is reached; any other exit is a crash. */
function causeFromExit(stderr: string, exitReason: string): InvocationOutcome {
  if (/out of memory|heap limit/i.test(stderr))
    return { outcome: "exceededMemory", exception: { name: "Error", message: "Worker exceeded memory limit." } };
  return {
    outcome: "exception",
    exception: { name: "Error", message: `the worker's process exited with ${exitReason}` },
  };
}
