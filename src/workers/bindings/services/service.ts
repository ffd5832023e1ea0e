import { OBJECTS_ENTRYPOINT } from "../../runtime/remote-bindings.ts";
import { rejectTunnel } from "../../runtime/service-calls/tunnel.ts";
import type { ServiceBinding, WorkerScript } from "../../scripts/script.ts";
import type { BindingServices } from "../service.ts";
import type { ServiceTarget, WorkerCalls } from "./port.ts";

/**
 * Maximum number of concurrent calls from one worker to others. This stops workers that call each other in a loop
 * before they exhaust the machine's resources.
 */
const MAX_CALLS = 256;

/** Creates the server side of a service binding. Passes requests and RPC connections to the bound worker. */
export function createServiceBindingService({
  calls,
  maxCalls: callLimit = MAX_CALLS,
}: {
  calls: WorkerCalls;
  maxCalls?: number;
}): BindingServices["service"] {
  const runningCalls = new Map<string, number>();

  /** Returns a function that ends the call, or undefined if the worker has too many calls in progress. */
  function begin({ key, name }: WorkerScript, { service, entrypoint }: ServiceBinding): (() => void) | undefined {
    // The worker's own Durable Objects, which run in another process of this server.
    if (service === name && entrypoint === OBJECTS_ENTRYPOINT) return () => {};
    const caller = key ?? name;
    const count = runningCalls.get(caller) ?? 0;
    if (count >= callLimit) return undefined;
    runningCalls.set(caller, count + 1);
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      const remainingCalls = runningCalls.get(caller)! - 1;
      if (remainingCalls === 0) runningCalls.delete(caller);
      else runningCalls.set(caller, remainingCalls);
    };
  }
  const tooManyCallsMessage = ({ name }: WorkerScript) =>
    `The Worker ${name} already has ${callLimit} service binding calls in progress.`;

  return {
    async handle(request, response, { script, binding }) {
      const end = begin(script, binding);
      if (end === undefined) {
        request.resume();
        return void response.writeHead(503, { "content-type": "text/plain" }).end(`${tooManyCallsMessage(script)}\n`);
      }
      await calls.fetch(targetOf(script, binding), request, response).finally(end);
    },
    upgrade(request, socket, head, { script, binding }) {
      const end = begin(script, binding);
      if (end === undefined) return void socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
      // Two pipelines and their owners each add listeners; together they exceed the default limit.
      socket.setMaxListeners(20).once("close", end);
      calls.upgrade(targetOf(script, binding), request, socket, head);
    },
    connect(socket, { script, binding, isIdle }) {
      const end = begin(script, binding);
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      if (end === undefined) return rejectTunnel(socket, tooManyCallsMessage(script));
      socket.once("close", end);
      calls.rpc(targetOf(script, binding), socket, { isIdle });
    },
  };
}

const targetOf = (
  { account }: WorkerScript,
  { service, service_id: workerId, entrypoint, props }: ServiceBinding,
): ServiceTarget => ({
  ...(account !== undefined && { account }),
  worker: service,
  ...(workerId !== undefined && { workerId }),
  entrypoint: {
    ...(entrypoint !== undefined && entrypoint !== "default" && { name: entrypoint }),
    ...(props !== undefined && { props }),
  },
});
