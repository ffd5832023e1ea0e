import type { Duplex } from "node:stream";
import { workerErrors } from "../../errors.ts";
import { hasNoCode, type WorkerScript } from "../../scripts/script.ts";
import type { EntrypointCalls, WorkerRuntime } from "../port.ts";
import { rejectTunnel } from "./tunnel.ts";

/**
 * Requests from other workers to the default entrypoint are handled like requests from clients: static assets come
 * first. RPC calls and named entrypoints always reach the code.
 */
export function withAssets(
  findEntrypoint: WorkerRuntime["entrypoint"],
  scriptOf: (name: string) => WorkerScript | undefined,
): WorkerRuntime["entrypoint"] {
  return async (name, entrypoint) => {
    const script = scriptOf(name);
    const hasWorker = script === undefined || !hasNoCode(script);
    if (!hasWorker && entrypoint.name !== undefined)
      throw workerErrors.entrypointMissing({ script: script.name, entrypoint: entrypoint.name });
    const code = hasWorker ? await findEntrypoint(name, entrypoint) : unavailableCalls(script);
    const site = script?.assets;
    if (site === undefined || entrypoint.name !== undefined) return code;
    return {
      ...code,
      async fetch(request, response) {
        const byAssets = await site.handle(request, response, { hasWorker });
        return byAssets ? { outcome: "ok", byAssets } : code.fetch(request, response);
      },
    };
  };
}

/** Calls to a worker that has only static assets, all of which fail. */
function unavailableCalls({ name }: WorkerScript): EntrypointCalls {
  const { message } = workerErrors.onlyAssets({ script: name });
  return {
    async fetch(request, response) {
      request.resume();
      response.writeHead(503, { "content-type": "text/plain; charset=utf-8" }).end(`${message}\n`);
      return { outcome: "exception", exception: { name: "Error", message } };
    },
    upgrade(_request, socket) {
      socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
    },
    rpc(socket) {
      rejectTunnel(socket, message);
      return { retire() {}, closed: closeOf(socket) };
    },
  };
}

const closeOf = (socket: Duplex) => new Promise<void>((resolve) => void socket.once("close", resolve));
