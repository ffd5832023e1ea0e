import type { IncomingMessage } from "node:http";
import { sendError } from "../../kernel/design/index.ts";
import { UserError, messageOf, systemClock, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { BindingServices } from "../bindings/service.ts";
import { workerErrors } from "../errors.ts";
import type { ObjectStorage } from "../objects/storage.ts";
import { hasNoCode } from "../scripts/script.ts";
import { assetHeaders, type Site } from "./response-headers.ts";
import { directClient, type ClientOf } from "./client.ts";
import { createEgressCheck, type EgressPolicy } from "./egress/policy.ts";
import { fetchEvent } from "./fetch-event.ts";
import { loadIsolateModules } from "./isolate-modules.ts";
import { identityOf } from "./invocations.ts";
import { createIdentities, type Identities } from "./identities.ts";
import { createLauncher } from "./launch.ts";
import type { IdRange } from "../../kernel/privileges.ts";
import { createLiveMessages } from "./live-messages.ts";
import type { Invocation, InvocationOutcome, WorkerRuntime, WorkerUsage } from "./port.ts";
import { createObjectOwners } from "./object-owners.ts";
import { createRunFolders } from "./run-folders.ts";
import { withAssets } from "./service-calls/asset-calls.ts";
import { createEntrypointLookup } from "./service-calls/entrypoint-lookup.ts";
import { createSlot, type ScriptSlot } from "./slot.ts";
import { DEFAULT_LIMITS, type RuntimeLimits } from "./watchdog.ts";
import type { WorkerProcess } from "./process-port.ts";
import type { WorkerProcessDeps } from "./worker-process.ts";

export interface RuntimeOptions {
  services: BindingServices;
  egress: EgressPolicy;
  ids: Ids;
  log: Log;
  clock?: Clock;
  limits?: Partial<RuntimeLimits>;
  /**
   * Maximum number of processes. When another one is needed, the one that has been idle longest is ended. Default 200.
   */
  maxProcesses?: number;
  /** Idle time after which a process ends. Default 5 minutes. */
  idleMs?: number;
  /** How long a message waits for a free process when `maxProcesses` are busy. Default 10 s. */
  slotWaitMs?: number;
  /** Maximum number of messages that one worker handles concurrently; further ones wait. Default 64. */
  concurrency?: number;
  /**
   * The client address and scheme of a request, for its URL and CF-Connecting-IP. Default: the peer of its connection.
   */
  client?: ClientOf;
  /** User ids of worker processes, one per account, if the server can switch users. Default: all run as `nobody`. */
  uidRange?: IdRange | undefined;
  /** Parent folder of the process folders. Default: the system's temporary folder. */
  runFolder?: string | undefined;
  /** Stores Durable Objects. Without it, a worker with Durable Objects cannot start. */
  objects?: ObjectStorage | undefined;
  /** Returns the site that serves a worker for the host of a request. Default: a host used only by that worker. */
  siteOf?(request: IncomingMessage, script: string): Site | undefined;
}

/** How long handlers may take to complete at shutdown; the sender of an interrupted message retries. */
const CLOSE_GRACE_MS = 8000;
const SLOT_CHECK_MS = 100;

/** Creates the pool of worker processes: the only implementation of WorkerRuntime, for `dev` and `serve`. */
export function createRuntime({
  services,
  egress,
  ids,
  log,
  clock = systemClock,
  limits,
  maxProcesses = 200,
  slotWaitMs = 10_000,
  idleMs = 300_000,
  concurrency = 64,
  client = directClient,
  siteOf = () => undefined,
  objects,
  uidRange,
  runFolder,
}: RuntimeOptions): WorkerRuntime {
  const slots = new Map<string, ScriptSlot>();
  /** Slots of removed names whose work has not completed. */
  const leavingSlots = new Set<ScriptSlot>();
  const pendingDeploys = new Map<string, Promise<void>>();
  /** Number of processes that are being started. */
  let starting = 0;
  const listeners = new Set<(invocation: Invocation) => void>();
  const usageListeners = new Set<(usage: WorkerUsage) => void>();
  const launcher = createLauncher({ log });
  const identities: Identities = createIdentities({ range: uidRange, log, ...(!launcher.confines && { able: false }) });
  const folders = createRunFolders(runFolder);
  const messages = createLiveMessages({ ids, log });
  const processDeps: WorkerProcessDeps = {
    launcher,
    folders,
    identities,
    inside: loadIsolateModules(),
    services,
    messages,
    egress: createEgressCheck(egress),
    objects: objects ?? NO_OBJECT_STORAGE,
    limits: { ...DEFAULT_LIMITS, ...limits },
    concurrency,
    client,
    siteOf,
    emit(invocation) {
      for (const listener of listeners) listener(invocation);
    },
    emitUsage(usage) {
      for (const listener of usageListeners) listener(usage);
    },
    log,
  };
  const objectOwners = createObjectOwners(slots);
  const { slotOf } = objectOwners;
  let isClosed = false;

  const idleTimer = setInterval(
    () => {
      for (const slot of slots.values()) {
        if (slot.current !== undefined && isIdle(slot.current) && performance.now() - slot.current.lastUsed >= idleMs)
          void slot.stopProcess();
      }
    },
    Math.min(idleMs, 5000),
  ).unref();

  /**
   * Reserves one more process until the returned function is called; if all are busy, waits a while for the first one
   * to become idle.
   */
  async function beforeStart() {
    const reserveStart = () => {
      starting++;
      return () => void starting--;
    };
    const slotTimeout = AbortSignal.timeout(slotWaitMs);
    for (;;) {
      if (isClosed) throw workerErrors.closing();
      const runningSlots = [...slots.values()].filter((slot) => slot.current !== undefined);
      if (runningSlots.length + starting < maxProcesses) return reserveStart();
      const [victim] = runningSlots
        .filter((slot) => isIdle(slot.current!))
        .sort((a, b) => a.current!.lastUsed - b.current!.lastUsed);
      if (victim !== undefined) {
        const endStart = reserveStart();
        await victim.stopProcess();
        return endStart;
      }
      if (slotTimeout.aborted) throw workerErrors.tooManyProcesses({ count: maxProcesses });
      await Promise.race([
        ...runningSlots.map((slot) => slot.current!.drained()),
        clock.sleep(SLOT_CHECK_MS, slotTimeout).catch(() => {}),
      ]);
      // The remaining processes may have only open WebSockets and so count as drained: check at most once per event
      // loop turn.
      await clock.sleep(1, slotTimeout).catch(() => {});
    }
  }

  async function processOf(name: string): Promise<WorkerProcess | InvocationOutcome> {
    try {
      const slot = slotOf(name);
      if (slot === undefined) throw workerErrors.scriptMissing({ script: name });
      if (hasNoCode(slot.script)) throw workerErrors.onlyAssets({ script: slot.script.name });
      return await slot.process();
    } catch (err) {
      if (!(err instanceof UserError))
        log.error({ err, script: name }, `workers: failed to start a worker: ${messageOf(err)}`);
      return { outcome: "exception", exception: { name: "Error", message: messageOf(err) } };
    }
  }

  /** Deploys of one name run in order: the last one requested remains in effect. */
  function runInTurn(name: string, work: () => Promise<void>): Promise<void> {
    const previousDeploy = pendingDeploys.get(name);
    const ownTurn = (previousDeploy === undefined ? work() : previousDeploy.then(work, work)).finally(() => {
      if (pendingDeploys.get(name) === ownTurn) pendingDeploys.delete(name);
    });
    pendingDeploys.set(name, ownTurn);
    return ownTurn;
  }

  async function dismiss(name: string, slot: ScriptSlot) {
    if (slots.get(name) === slot) slots.delete(name);
    leavingSlots.add(slot);
    await slot.close();
    leavingSlots.delete(slot);
  }

  function reportUnstarted(name: string, event: Invocation["event"], outcome: InvocationOutcome) {
    processDeps.emit({
      ...outcome,
      ...identityOf(slotOf(name)?.script ?? { name, version: "" }),
      event,
      startedAt: new Date(clock.now()),
      wallMs: 0,
      logs: [],
      exceptions: [],
    });
  }

  return {
    objectStorage: objects,
    deploy: (script, { start = true } = {}) => {
      const key = script.key ?? script.name;
      return runInTurn(key, async () => {
        const existingSlot = slots.get(key);
        if (existingSlot !== undefined && !hasNoCode(script)) return existingSlot.swap(script);
        const slot = createSlot(script, { machinery: processDeps, clock, log, beforeStart });
        slots.set(key, slot);
        objectOwners.claim(key);
        if (existingSlot !== undefined) void dismiss(key, existingSlot);
        if (!start || hasNoCode(script)) return;
        try {
          await slot.process();
        } catch (err) {
          void dismiss(key, slot);
          throw err;
        }
      });
    },
    async remove(name) {
      const slot = slots.get(name);
      if (slot !== undefined) await dismiss(name, slot);
    },
    async email(name, mail, actions) {
      const process = await processOf(name);
      if ("email" in process) return process.email(mail, actions);
      reportUnstarted(
        name,
        { kind: "email", id: mail.id, from: mail.from, to: mail.to, rawSize: mail.rawSize },
        process,
      );
      return { ...process, ended: Promise.resolve() };
    },
    async fetch(name, request, response) {
      // The assets and the code of one version handle the request: the version that is running, as for calls from other
      // workers.
      const script = slotOf(name)?.script;
      const byAssets = await script?.assets?.handle(request, response, {
        hasWorker: !hasNoCode(script),
        filter: (headers) => assetHeaders(headers, siteOf(request, script.name)),
      });
      if (byAssets === true) return { outcome: "ok", byAssets };
      const process = await processOf(name);
      if ("fetch" in process) return process.fetch(request, response);
      reportUnstarted(name, fetchEvent(request, client, { status: 503 }), process);
      request.resume();
      const text = process.exception?.message ?? "The worker could not be started.";
      sendError(request, response, { status: 503, text, advice: "Reload the page in a minute." });
      return process;
    },
    async scheduled(name, event) {
      const process = await processOf(name);
      if ("scheduled" in process) return process.scheduled(event);
      reportUnstarted(name, { kind: "scheduled", ...event }, process);
      return process;
    },
    async queue(name, batch) {
      const process = await processOf(name);
      if ("queue" in process) return process.queue(batch);
      reportUnstarted(name, { kind: "queue", queue: batch.queue, batchSize: batch.messages.length }, process);
      return { ...process, ...NOT_STARTED };
    },
    async tail(name, batch) {
      const process = await processOf(name);
      if ("tail" in process) return process.tail(batch);
      const { consumed, origins } = batch;
      reportUnstarted(name, { kind: "tail", consumed, origins }, process);
      return process;
    },
    async readExports(name) {
      const slot = slotOf(name);
      if (slot === undefined) throw workerErrors.scriptMissing({ script: name });
      return hasNoCode(slot.script) ? { handlers: [], classes: [] } : (await slot.process()).readExports();
    },
    claimObjects: objectOwners.claim,
    entrypoint: withAssets(createEntrypointLookup({ slotOf, inTurn: runInTurn }), (name) => slotOf(name)?.script),
    upgrade(name, request, socket, head) {
      // Handles errors before and after the socket has a reader.
      socket.on("error", () => socket.destroy());
      void processOf(name).then((process) => {
        if (socket.destroyed) return;
        if ("upgrade" in process) return process.upgrade(request, socket, head);
        socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
      });
    },
    onInvocation(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onUsage(listener) {
      usageListeners.add(listener);
      return () => void usageListeners.delete(listener);
    },
    async close() {
      isClosed = true;
      clearInterval(idleTimer);
      await Promise.all([...slots.values(), ...leavingSlots].map((slot) => slot.close(CLOSE_GRACE_MS)));
      folders.close();
      launcher.close();
    },
  };
}

/** The remaining fields of the outcome if no process received the batch. */
export const NOT_STARTED = { started: false, ackAll: false, acks: [], retries: [] };

const NO_OBJECT_STORAGE: Pick<ObjectStorage, "open"> = {
  open: () => Promise.reject(new Error("this runtime does not store Durable Objects")),
};

const isIdle = (process: WorkerProcess) => process.busy === 0;
