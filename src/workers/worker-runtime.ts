import { join } from "node:path";
import type { PrimaryProcess } from "../kernel/primary-process.ts";
import type { Basics } from "../kernel/index.ts";
import { parseIdRange } from "../kernel/privileges.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Store } from "../store/index.ts";
import type { Bindings } from "./bindings/bindings.ts";
import { createSendEmailService } from "./bindings/send-email/service.ts";
import type { WorkerCalls } from "./bindings/services/port.ts";
import { sendObjectCallsToPrimaryProcess } from "./bindings/services/primary-process-calls.ts";
import { createServiceBindingService } from "./bindings/services/service.ts";
import { createStreamService } from "./bindings/stream/service.ts";
import { createInvocationMetrics, type InvocationMetrics } from "./invocation-metrics/index.ts";
import { createRemoteObjectStorage } from "./objects/primary-process-storage.ts";
import { openObjectStorage } from "./objects/storage.ts";
import type { SendEmailPort, StreamPort } from "./ports.ts";
import type { WorkerRuntime } from "./runtime/port.ts";
import { createRuntime, type RuntimeOptions } from "./runtime/pool.ts";

interface WorkerRuntimeOptions extends Pick<RuntimeOptions, "egress" | "limits" | "client" | "siteOf"> {
  bindings: Bindings;
  /** Sends the mail of workers. Called for each message, because mail itself needs the runtime. */
  sendEmail(): SendEmailPort;
  /** Executes the operations of stream bindings; called for each. */
  stream(): StreamPort;
  /** Calls between workers. Evaluated for each call, because it may be set after the runtime has been created. */
  calls(): WorkerCalls;
  settings: Pick<Settings, "workers">;
  /** Stores the metrics of invocations. If absent, invocations are not counted. */
  figuresStore?: Pick<Store, "db" | "sweeps">;
  /**
   * True to run Durable Objects in this process, false to reject them, or the primary process of this server, which runs
   * them. Default true.
   */
  durableObjects?: boolean | PrimaryProcess;
  /** The processes' folders are created in its subfolder `run`, accessible only to the server. */
  dataDirectory: string;
}

/** Creates the processes in which workers run, as the settings `workers` specify; `limits` override them. */
export function createWorkerRuntime(
  {
    bindings,
    sendEmail,
    stream,
    calls,
    settings: { workers },
    dataDirectory,
    limits,
    figuresStore,
    durableObjects = true,
    ...options
  }: WorkerRuntimeOptions,
  { clock, ids, log, lifecycle }: Basics,
): WorkerRuntime & { figures?: InvocationMetrics } {
  const primaryProcess = typeof durableObjects === "boolean" ? undefined : durableObjects;
  const localCalls: WorkerCalls = {
    fetch: (...call) => calls().fetch(...call),
    upgrade: (...call) => calls().upgrade(...call),
    rpc: (...call) => calls().rpc(...call),
  };
  const runtime = createRuntime({
    ...options,
    services: {
      ...bindings,
      sendEmail: createSendEmailService({
        port: {
          sendRaw: (...call) => sendEmail().sendRaw(...call),
          sendBuilt: (...call) => sendEmail().sendBuilt(...call),
        },
        log,
      }),
      service: createServiceBindingService({
        calls:
          primaryProcess === undefined
            ? localCalls
            : sendObjectCallsToPrimaryProcess(localCalls, primaryProcess, { log }),
      }),
      stream: createStreamService({ port: { call: (...call) => stream().call(...call) }, log }),
    },
    objects: durableObjects === true ? openObjectStorage(dataDirectory, { clock, log }) : undefined,
    concurrency: workers.concurrency,
    maxProcesses: workers.max_processes,
    idleMs: workers.idle_ms,
    uidRange: parseIdRange(workers.uid_range),
    runFolder: join(dataDirectory, "run"),
    limits: {
      cpuMs: workers.cpu_ms,
      emailWallMs: workers.email_wall_ms,
      scheduledWallMs: workers.scheduled_wall_ms,
      heapMb: workers.heap_mb,
      rssMb: workers.rss_mb,
      ...limits,
    },
    ids,
    log,
    clock,
  });
  const figures =
    figuresStore &&
    createInvocationMetrics({
      db: figuresStore.db,
      sweeps: figuresStore.sweeps,
      clock,
      log,
      days: workers.analytics_days,
    });
  if (figures !== undefined) {
    figures.watch(runtime);
    // Stop handlers run in reverse order: the metrics are written after the last invocation.
    lifecycle.onStop("metrics of invocations", () => figures.close());
  }
  lifecycle.onStop("workers", () => runtime.close(), { timeoutMs: 15_000 });
  return {
    ...runtime,
    ...(primaryProcess && { remoteObjectStorage: createRemoteObjectStorage(primaryProcess) }),
    ...(figures && { figures }),
  };
}
