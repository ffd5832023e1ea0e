import { messageOf, UserError, type Log } from "../../../kernel/index.ts";
import { workerErrors } from "../../errors.ts";
import type { EntrypointCalls, RpcTunnel, WorkerRuntime } from "../../runtime/port.ts";
import { rejectTunnel } from "../../runtime/service-calls/tunnel.ts";
import type { ServiceTarget, WorkerCalls } from "./port.ts";

/** A worker that is ready to be called. */
interface ReadyWorker {
  calls: EntrypointCalls;
  /** Call this when the request has ended. */
  release(): void;
  /**
   * Releases the worker but keeps it loaded for an open connection. `onRetired` is called when the version is replaced.
   * Returns a function to call when the connection ends.
   */
  releaseToConnection(onRetired: () => void): () => void;
}

/** Calls the workers that `find` returns. An error of `find` becomes the response. */
export function createWorkerCalls(
  find: (target: ServiceTarget) => Promise<ReadyWorker>,
  { log }: { log: Log },
): WorkerCalls {
  const logFailure = (err: unknown, { worker, account }: ServiceTarget): string => {
    const isMissing = err instanceof UserError && err.domain === "workers" && err.kind === "scriptMissing";
    const message = messageOf(isMissing ? workerErrors.boundWorkerMissing({ script: worker }) : err);
    log.warn({ err, worker, account }, `workers: service binding call failed: ${message}`);
    return message;
  };
  return {
    async fetch(target, request, response) {
      let readyWorker: ReadyWorker;
      try {
        readyWorker = await find(target);
      } catch (err) {
        request.resume();
        response.writeHead(503, { "content-type": "text/plain; charset=utf-8" }).end(`${logFailure(err, target)}\n`);
        return;
      }
      await readyWorker.calls.fetch(request, response).finally(readyWorker.release);
    },
    upgrade(target, request, socket, head) {
      socket.on("error", () => socket.destroy());
      find(target).then(
        ({ calls, releaseToConnection }) => {
          const releaseOnce = releaseToConnection(() => {});
          if (socket.destroyed) return releaseOnce();
          socket.once("close", releaseOnce);
          calls.upgrade(request, socket, head);
        },
        (err: unknown) => {
          logFailure(err, target);
          socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        },
      );
    },
    rpc(target, socket, caller) {
      socket.on("error", () => socket.destroy());
      find(target).then(
        ({ calls, releaseToConnection }) => {
          if (socket.destroyed) return releaseToConnection(() => {})();
          const tunnel = calls.rpc(socket, caller);
          void tunnel.closed.then(releaseToConnection(() => tunnel.retire()));
          if (caller.stopping !== undefined) retireOnStop(tunnel, caller.stopping);
        },
        (err: unknown) => rejectTunnel(socket, logFailure(err, target)),
      );
    },
  };
}

function retireOnStop(tunnel: RpcTunnel, stopping: AbortSignal) {
  if (stopping.aborted) return tunnel.retire();
  const retire = () => tunnel.retire();
  stopping.addEventListener("abort", retire, { once: true });
  void tunnel.closed.then(() => stopping.removeEventListener("abort", retire));
}

/** Calls between the workers of `reelpost dev`, by name. */
export const createLocalWorkerCalls = ({
  runtime,
  log,
}: {
  runtime: Pick<WorkerRuntime, "entrypoint">;
  log: Log;
}): WorkerCalls =>
  createWorkerCalls(
    async ({ worker, entrypoint }) => ({
      calls: await runtime.entrypoint(worker, entrypoint),
      release() {},
      // A replaced process itself retires its connections.
      releaseToConnection: () => () => {},
    }),
    { log },
  );
