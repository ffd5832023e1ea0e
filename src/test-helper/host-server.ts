import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdvancingClock, silentLog, systemClock, UserError } from "../kernel/index.ts";
import { findDevServer, startDev, type DevServer } from "../server/index.ts";
import type { ServerEvent } from "./api.ts";
import { advance } from "./advance.ts";
import { passEmail } from "./email.ts";
import { testHelperErrors } from "./errors.ts";
import { toServerEvent } from "./events.ts";
import { faultRule } from "./faults.ts";
import { clearInbox, listInbox, waitForMessage } from "./inbox.ts";
import { expandSeeds } from "./seeds.ts";
import { createVideoClient } from "./videos.ts";
import type { StartParams, StartResult } from "./wire.ts";

/** One server in the host process. Its methods take and return JSON values. */
export interface HostServer {
  start(params: StartParams): Promise<StartResult>;
  call(method: string, params: unknown): Promise<unknown>;
  close(): Promise<void>;
}

/** The only account of a development server. */
const ACCOUNT = "0".repeat(32);

/** Live video uses fixed ports by default. */
const FREE_PORTS = { REELPOST_LIVE_RTMP_PORT: "0", REELPOST_LIVE_RTMPS_PORT: "0", REELPOST_LIVE_SRT_PORT: "0" };

/** Advancing the clock must not end the leases of running batches. setTimeout() is limited to about 24 days. */
const QUEUE_LEASE_MS = 60 * 24 * 3600_000;

export function createHostServer({ onEvent }: { onEvent(event: ServerEvent): void }): HostServer {
  let running: { server: DevServer; clock: ReturnType<typeof createAdvancingClock>; params: StartParams } | undefined;
  let temporaryFolder: string | undefined;
  let isClosed = false;

  async function open(params: StartParams, ports?: { http: number; smtp: number }): Promise<StartResult> {
    const { cwd, configs, env, environment, vars, seeds = [], chaos } = params;
    const dataDir = params.dataDir ?? (temporaryFolder = mkdtempSync(join(tmpdir(), "reelpost-test-")));
    const clock = createAdvancingClock(systemClock);
    const failures: UserError[] = [];
    const server = await startDev({
      cwd,
      env: { ...FREE_PORTS, ...env },
      configs,
      ...(environment !== undefined && { environment }),
      host: "127.0.0.1",
      port: ports?.http ?? 0,
      smtpPort: ports?.smtp ?? 0,
      dashboardPort: false,
      dataDir,
      watch: false,
      seeds: expandSeeds(seeds, cwd),
      ...(vars !== undefined && { vars }),
      ...(chaos !== undefined && { chaos: { percent: chaos.percent, seed: chaos.seed ?? 1 } }),
      report(event) {
        if (event.event === "build-failed")
          failures.push(testHelperErrors.buildFailed({ worker: event.worker, reason: event.message }));
        onEvent(toServerEvent(event));
      },
      log: silentLog,
      clock,
      limits: { queueLeaseMs: QUEUE_LEASE_MS },
    });
    running = { server, clock, params };
    // close() was called during startup.
    if (isClosed) {
      await stop();
      throw testHelperErrors.serverClosed();
    }
    if (failures.length > 0) throw new AggregateError(failures);
    const found = findDevServer(dataDir);
    return {
      url: server.url,
      smtp: server.smtp!,
      api: { url: found!.url, token: found!.token, account: ACCOUNT },
      dataDir,
      workers: server.workers.map(({ name }) => name),
    };
  }

  async function stop(): Promise<void> {
    const { server } = running ?? {};
    running = undefined;
    await server?.close();
    if (temporaryFolder !== undefined) await rm(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });
    temporaryFolder = undefined;
  }

  async function reset(): Promise<StartResult> {
    const { server, params } = running!;
    if (params.dataDir !== undefined) throw testHelperErrors.resetImpossible({ dataDir: params.dataDir });
    await stop();
    return open(params, { http: server.port, smtp: server.smtp!.port });
  }

  return {
    start: (params) => open(params),
    async call(method, params) {
      if (running === undefined || isClosed) throw testHelperErrors.serverClosed();
      const { server, clock } = running;
      const { control } = server;
      const videos = createVideoClient({ url: server.url, account: ACCOUNT, token: "test" });
      const methods: Record<string, (params: never) => unknown> = {
        reset,
        email: (mail: Parameters<typeof passEmail>[1]) => passEmail(control, mail),
        scheduled: async ({
          worker,
          cron = "",
          time = clock.now(),
        }: {
          worker?: string;
          cron?: string;
          time?: number;
        }) => {
          const { outcome, exception } = await control.scheduled(worker, { cron, scheduledTime: new Date(time) });
          return { outcome: outcome === "ok" ? "ok" : "exception", ...(exception && { exception }) };
        },
        waitForMessage: (wait: Parameters<typeof waitForMessage>[2]) => waitForMessage(control.inbox, ACCOUNT, wait),
        listInbox: (filter: Parameters<typeof listInbox>[2]) => listInbox(control.inbox, ACCOUNT, filter),
        clearInbox: (filter: Parameters<typeof clearInbox>[2]) => clearInbox(control.inbox, ACCOUNT, filter),
        upload: videos.upload,
        video: videos.get,
        advance: ({ ms }: { ms: number }) => advance({ control, clock }, ms),
        addFault: (fault: Parameters<typeof faultRule>[0]) => control.deliveries.add(faultRule(fault)),
        clearFaults: () => control.deliveries.clear(),
        setDiskFull: ({ isFull }: { isFull: boolean }) => control.disk.setFull(isFull),
      };
      return methods[method]!(params as never);
    },
    async close() {
      isClosed = true;
      await stop();
    },
  };
}
