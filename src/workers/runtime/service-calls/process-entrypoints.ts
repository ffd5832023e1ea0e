import type { Duplex } from "node:stream";
import { SCHEME_HEADER } from "../capnp.ts";
import { workerClient } from "../client.ts";
import { fetchEvent } from "../fetch-event.ts";
import type { createInvocations } from "../invocations.ts";
import { createHttpPassthrough } from "../passthrough.ts";
import type { EntrypointCalls, InvocationOutcome, RpcTunnel } from "../port.ts";
import { OBJECTS_ENTRYPOINT } from "../remote-bindings.ts";
import type { ProcessWatch } from "../watchdog.ts";
import { entrypointKey, type Entrypoint } from "./entrypoints.ts";
import { openTunnel } from "./tunnel.ts";

interface Options {
  sockets: { path: string; entrypoint: Entrypoint }[];
  invocations: ReturnType<typeof createInvocations>;
  /** Counts an invocation while it runs. */
  countInvocation<Result>(run: () => Promise<Result>): Promise<Result>;
  watch(): ProcessWatch;
  /** True if the process waits for events. */
  isAsleep(): boolean;
  onUsed(): void;
  findExitCause(err: unknown): Promise<InvocationOutcome>;
}

const client = workerClient(SCHEME_HEADER);

/** Creates the entrypoints of one process that other workers call. */
export function createProcessEntrypoints({
  sockets,
  invocations,
  countInvocation: counted,
  watch,
  isAsleep,
  onUsed,
  findExitCause,
}: Options) {
  const tunnels = new Set<RpcTunnel>();
  /** Number of RPC connections with running calls. */
  let busyCount = 0;
  let isRetired = false;
  let drainWaiters: (() => void)[] = [];

  const calls = new Map(sockets.map((socket) => [entrypointKey(socket.entrypoint), callsOf(socket)]));

  function callsOf({ path: socketPath, entrypoint }: Options["sockets"][number]): EntrypointCalls & { close(): void } {
    // A request to a Durable Object is an event of the object, which its own trace item reports unless the process
    // ended. The service that passes the request on belongs to the server and has no tail.
    const isToObject = entrypoint.name === OBJECTS_ENTRYPOINT;
    const toReportOptions = ({ outcome }: InvocationOutcome) => ({
      silent: isToObject,
      isReported: !isToObject || (outcome !== "ok" && outcome !== "canceled"),
    });
    const passthrough = createHttpPassthrough({
      socketPath,
      client,
      siteOf: () => undefined,
      findExitCause,
      callsObjects: isToObject,
    });
    return {
      async fetch(request, response) {
        const invocation = invocations.begin(fetchEvent(request, client));
        const outcome = await counted(() => passthrough.fetch(invocation.id, request, response));
        invocation.settle(outcome, { status: response.statusCode, ...toReportOptions(outcome) });
        return outcome;
      },
      upgrade(request, socket, head) {
        const invocation = invocations.begin(fetchEvent(request, client), { lingering: true });
        const runningInvocation = watch().begin({ longLived: true });
        void passthrough.upgrade(invocation.id, request, socket, head, runningInvocation.answered).then((status) => {
          onUsed();
          runningInvocation.ended();
          const outcome: InvocationOutcome = { outcome: "ok" };
          invocation.settle(outcome, { status, ...toReportOptions(outcome) });
        });
      },
      rpc: (socket, { isIdle }) => addTunnel(socket, socketPath, isIdle),
      close: () => passthrough.close(),
    };
  }

  function addTunnel(caller: Duplex, socketPath: string, isCallerIdle: () => boolean): RpcTunnel {
    let runningInvocation: ReturnType<ProcessWatch["begin"]> | undefined;
    const tunnel = openTunnel({
      caller,
      socketPath,
      isCallerIdle,
      isTargetAsleep: isAsleep,
      onBusy() {
        busyCount++;
        onUsed();
        runningInvocation = watch().begin({ longLived: true });
      },
      onIdle() {
        busyCount--;
        onUsed();
        runningInvocation?.ended();
        if (busyCount > 0) return;
        for (const resolveDrained of drainWaiters) resolveDrained();
        drainWaiters = [];
      },
    });
    tunnels.add(tunnel);
    void tunnel.closed.then(() => tunnels.delete(tunnel));
    if (isRetired) tunnel.retire();
    return tunnel;
  }

  return {
    get: (wantedEntrypoint: Entrypoint): EntrypointCalls | undefined => calls.get(entrypointKey(wantedEntrypoint)),
    get busy() {
      return busyCount;
    },
    /** Resolves when no RPC call is running. */
    drained: (): Promise<void> =>
      busyCount === 0 ? Promise.resolve() : new Promise((resolve) => void drainWaiters.push(resolve)),
    /** Closes RPC connections as they become idle; resolves when all are closed. */
    async retire(): Promise<void> {
      isRetired = true;
      for (const tunnel of tunnels) tunnel.retire();
      await Promise.all([...tunnels].map(({ closed }) => closed));
    },
    close() {
      for (const each of calls.values()) each.close();
    },
  };
}
