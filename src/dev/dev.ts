import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { isLoopback, type Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { createLocalMail, openInbox, type Inbox, type InboxActions } from "../mail/index.ts";
import type { Store } from "../store/index.ts";
import { createBindings, createWorkerRuntime, meterWorkers } from "../workers/index.ts";
import {
  localS3Key,
  createS3HttpHandler,
  createLocalBucketList,
  createObjectAlarms,
  createLocalWorkerCalls,
  type RuntimeLimits,
  devEgress,
  type LocalPlatform,
  createLocalPlatform,
} from "../workers/local/index.ts";
import { type StreamPort } from "../workers/ports.ts";
import { createDevControl, type DevControl } from "./control.ts";
import { openRunFolder } from "./data-directory.ts";
import { warnWithoutAi } from "./ai-warning.ts";
import type { DevApi } from "./dev-api.ts";
import type { DevSettings } from "./dev-settings.ts";
import type { EventReporter } from "./events.ts";
import { createChaos, createDeliveryFaults, createDiskFault } from "./faults/index.ts";
import { createDevHttp, S3_PREFIX, STORAGE_PREFIX } from "./http/dev-http.ts";
import { createReceive } from "./http/receive.ts";
import { createInvocationReports } from "./invocation-reports.ts";
import { runSeeds } from "./seeds/index.ts";
import { listenOnSmtpPort } from "./smtp-port.ts";
import { runDevTailWorkers } from "./tail-workers.ts";
import type { DevWorkers } from "./workers.ts";

/** Video for local workers. */
export interface DevVideo {
  binding: StreamPort;
  /** Serves paths under VIDEO_PREFIX. Resolves with false if there is nothing under the path. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Resolves with the v4 API operations on videos and live inputs. Opens video. */
  api(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** The parts of a development server that its API presents. */
interface DevModules {
  platform: LocalPlatform;
  inbox: { store: Inbox; actions: InboxActions };
  video: Pick<DevVideo, "api">;
}

/** Values for tests. */
export interface DevLimits {
  /** Limits that override those of the configurations and settings. */
  runtime?: Partial<RuntimeLimits>;
  /** Maximum size of a message in bytes. Default 25 MiB. */
  messageBytes?: number;
  /** Lease of a batch of queue messages while its handler is running. Default 30 s. */
  queueLeaseMs?: number;
  /** How long pending requests and SMTP sessions may take at shutdown. Default 5 s. */
  graceMs?: number;
}

interface DevDeps {
  workers: DevWorkers;
  settings: Pick<Settings, "workers" | "inbox">;
  /** The only account and its user. */
  owner: { account: string; user: { id: string; email: string } };
  store: Store;
  dataDir: string;
  /** `serverUrl` returns the URL of the HTTP server, which is known once it listens. */
  openVideo(serverUrl: () => string, store: Store): DevVideo;
  openApi(modules: DevModules): Promise<DevApi>;
  /** SQL files to run before the workers start: `FILE` or `BINDING=FILE`, relative to `cwd`. */
  seeds: readonly string[];
  cwd: string;
  /** Simulates failures for this percentage of the recipients of outgoing messages. Default: none. */
  chaos?: { percent: number; seed: number } | undefined;
  /** Receives invocations, refused messages and warnings. */
  report: EventReporter;
  limits: DevLimits;
}

export interface Dev {
  /** Folder of this run's `.eml` files. */
  readonly mailDir: string;
  readonly api: DevApi;
  readonly control: DevControl;
  /**
   * Runs the seeds, builds the workers, then listens for requests and mail. A worker that fails to build is reported
   * but does not prevent the start. Rejects with UserError if a seed fails or a port is in use.
   */
  start(addresses: Pick<DevSettings, "host" | "port" | "smtpPort">): Promise<{
    /** Without a trailing slash. */
    url: string;
    port: number;
    /** Undefined if SMTP is disabled. */
    smtp: { host: string; port: number } | undefined;
  }>;
}

/**
 * Creates the development server of some workers: receives their mail over SMTP and HTTP, passes requests to them,
 * writes their outbound mail to files, and reports each invocation.
 */
export async function createDev(
  {
    workers,
    settings,
    owner,
    store: realStore,
    dataDir,
    openVideo,
    openApi,
    seeds,
    cwd,
    chaos,
    report: reportEvent,
    limits,
  }: DevDeps,
  basics: Basics,
): Promise<Dev> {
  const { graceMs = 5000 } = limits;
  const { clock, ids, log, lifecycle } = basics;
  const { names, unavailable } = workers;
  let serverUrl = "";
  let control: ReturnType<typeof createDevControl> | undefined;
  const report: EventReporter = (event) => {
    reportEvent(event);
    control?.report(event);
  };
  const disk = createDiskFault();
  const store = { ...realStore, objects: disk.objects(realStore.objects) };
  const deliveries = createDeliveryFaults({ clock, report, ...(chaos && { chaos: createChaos(chaos) }) });
  const reports = createInvocationReports({
    report,
    explain: workers.explain,
    buildWarning: workers.buildWarning,
    clock,
  });
  // Stops after the workers, so that their last invocations are reported.
  lifecycle.onStop("invocation reports", () => reports.close());
  const mailDir = openRunFolder(join(dataDir, "mail"), clock.now());
  const inbox = await openInbox({
    db: realStore.db,
    objects: realStore.objects,
    clock,
    log,
    maxMessages: settings.inbox.max_messages,
    maxBytes: settings.inbox.max_mb * 1024 * 1024,
    stopping: lifecycle.stopping,
  });
  lifecycle.onStop("inbox", () => inbox.close());
  const mail = createLocalMail(
    {
      mailDirectory: mailDir,
      spoolDirectory: join(dataDir, "spool"),
      maxMessageBytes: limits.messageBytes,
      faults: {
        spool: disk.spool,
        intercept: (transport) => deliveries.intercept(disk.intercept(transport)),
      },
      onWritten: reports.mailWritten,
      route: (recipient) => ({ kind: "worker", script: workers.workerFor(recipient) }),
      rules: { isVerified: workers.isVerified, routesToWorker: (address, script) => workers.claims(script, address) },
      inbox: {
        store: inbox,
        account: owner.account,
        causeOf: ({ script }) => reports.messageOf(script ?? ""),
        workers: () => names,
        releaseServer: settings.inbox.release_server,
      },
    },
    basics,
  );
  const video = openVideo(() => serverUrl, store);
  const bindings = createBindings(store, dataDir, basics, { createQueues: true, settings, unlisted: true });
  warnWithoutAi({ workers, isOffered: bindings.ai.isOffered, report });
  const processes = createWorkerRuntime(
    {
      bindings,
      sendEmail: () => mail.binding,
      stream: () => video.binding,
      calls: () => createLocalWorkerCalls({ runtime: processes, log }),
      settings,
      dataDirectory: dataDir,
      egress: devEgress(workers.defaultProject.reelpost.egress),
      limits: { ...workers.limits, ...limits.runtime },
    },
    basics,
  );
  const runtime = reports.instrument(processes);
  // All workers start together with the server, so an alarm only has to restart a worker that was stopped when idle.
  const alarms = createObjectAlarms({
    storage: processes.objectStorage!,
    wake: async ({ name }) => {
      await runtime.readExports(name);
      return true;
    },
    clock,
    log,
  });
  lifecycle.onStop("alarms", () => alarms.close());
  const metrics = meterWorkers(runtime);
  lifecycle.onStop("metrics", () => metrics.close());
  runDevTailWorkers({ workers, runtime, report }, basics);
  const receiver = mail.receiver(runtime);
  control = createDevControl({ workers, mail, receiver, runtime, inbox, deliveries, disk });
  const api = await openApi({
    platform: createLocalPlatform({ store, bindings, runtime, workers: workers.list, owner }, basics),
    inbox: { store: inbox, actions: mail.inboxActions(receiver) },
    video,
  });
  const s3 = createS3HttpHandler({
    ...bindings.r2,
    bucketList: createLocalBucketList(() =>
      workers
        .describe()
        .flatMap((worker) => worker.bindings)
        .flatMap((binding) => (binding.type === "r2_bucket" ? [binding.bucket_name] : [])),
    ),
    findKey: async (id) => (id === localS3Key ? { secret: localS3Key, allows: () => true } : undefined),
    endpoints: { domain: "", prefix: S3_PREFIX, accountInPath: false },
    clientIp: ({ socket }) => socket.remoteAddress,
    pagesNeedCors: true,
    clock,
    ids,
    log,
  });
  const http = createDevHttp({
    runtime,
    receive: createReceive({ receiver, spool: mail.spool, workers: names, unavailable, ids }),
    workers: names,
    unavailable,
    log,
    graceMs,
    metrics: metrics.render,
    video: video.handle,
    s3: s3.handle,
    storage: api.handle,
    tails: api.upgrade,
    analytics: bindings.analytics,
    health: () => ({ workers: workers.status() }),
  });

  const listenForMail = (host: string, port: number | undefined) =>
    listenOnSmtpPort(
      { host, port },
      (candidate) =>
        mail.listen(receiver, {
          host,
          port: candidate,
          closeMs: graceMs,
          onRejected: ({ from, to }, { code, enhanced, text }) =>
            report({ event: "refused", from, to, reason: `${code} ${enhanced} ${text}` }),
        }),
      report,
    );

  return {
    mailDir,
    api,
    control,
    async start({ host, port, smtpPort }) {
      if (chaos !== undefined)
        report({
          event: "notice",
          text: `Chaos: simulating failures for ${chaos.percent}% of the recipients of outgoing messages. To repeat them, use --chaos-seed ${chaos.seed}`,
        });
      const { databases } = bindings.d1;
      await runSeeds(seeds, { databases, workers: workers.describe(), cwd, dataDir, report });
      // Workers of an earlier run may still be registered as consumers.
      await bindings.queue.queues.removeConsumersExcept("", names);
      await workers.start({ deploy: runtime.deploy, consume: bindings.queue.queues.setConsumersOf });
      const consumed = bindings.queue.deliver(({ script }, batch) => control.noteBatch(runtime.queue(script, batch)), {
        ...(limits.queueLeaseMs !== undefined && { leaseMs: limits.queueLeaseMs }),
      });
      lifecycle.onStop("queues", () => consumed.close());
      const boundHttp = await http.listen({ host, port });
      serverUrl = boundHttp.url;
      lifecycle.onStop("http", () => http.close());
      api.announce(`${boundHttp.url}${STORAGE_PREFIX}`);
      lifecycle.onStop("storage announcement", () => api.withdraw());
      if (!isLoopback(host)) report({ event: "warning", text: `Other machines can reach ${host} and run your worker` });
      const smtp = smtpPort === false ? undefined : await listenForMail(host, smtpPort);
      if (smtp !== undefined) lifecycle.onStop("smtp", () => smtp.close());
      // Stops first, so that no build starts during shutdown.
      lifecycle.onStop("rebuilding", () => workers.close());
      return { ...boundHttp, smtp: smtp && { host: smtp.host, port: smtp.port } };
    },
  };
}
