import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ServiceBinding, WorkerScript } from "../../scripts/script.ts";
import type { RpcCaller } from "../../runtime/port.ts";
import type { Entrypoint } from "../../runtime/service-calls/entrypoints.ts";

/** The worker that a service binding calls. */
export interface ServiceTarget {
  /** 32 hex digits; absent in `reelpost dev`, which has no accounts. */
  account?: string;
  worker: string;
  /** 32 hex digits, if known; takes precedence over the name. */
  workerId?: string;
  entrypoint: Entrypoint;
}

/** Calls between workers of the same account. No method rejects or throws. */
export interface WorkerCalls {
  /** Resolves when the response has ended. */
  fetch(target: ServiceTarget, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Like fetch(), for `Upgrade` requests (WebSocket). */
  upgrade(target: ServiceTarget, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Connects a caller that uses the RPC protocol of workerd. */
  rpc(target: ServiceTarget, socket: Duplex, caller: RpcCaller): void;
}

/** Methods of a service binding for connections other than plain requests. */
export interface ServiceBindingConnections {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: ServiceCaller): void;
  /** Handles a request for an RPC connection. */
  connect(socket: Duplex, caller: ServiceCaller & RpcCaller): void;
}

interface ServiceCaller {
  script: WorkerScript;
  binding: ServiceBinding;
}
