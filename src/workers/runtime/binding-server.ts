import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { chmodSync, chownSync } from "node:fs";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf, type Log } from "../../kernel/index.ts";
import { readJsonBody, sendBindingError } from "../bindings/http.ts";
import type { BindingServices } from "../bindings/service.ts";
import type { WorkerScript } from "../scripts/script.ts";
import { SERVICE_HEADER, TAIL_SERVICE } from "./capnp.ts";
import { asServiceBinding, isWorkerBinding, isRemote, rpcHost, serviceName, serviceOf } from "./remote-bindings.ts";
import type { TraceItem } from "./tail-items.ts";

interface BindingServerOptions {
  script: WorkerScript;
  services: BindingServices;
  socket: string;
  /** Group that may connect in addition to the server's user. */
  gid?: number | undefined;
  onTail(items: TraceItem[]): void;
  /** Called for every request, as a sign that the worker is alive and active. */
  onActivity(): void;
  /** Called for every call of a binding. */
  onCall?(): void;
  /** True if the process has no running invocation. */
  isIdle(): boolean;
  log: Log;
}

/** A tail batch contains logs, which workerd limits to 256 KB per invocation. */
const TAIL_LIMIT = 8 * 1024 * 1024;
/** R2 request metadata is sent in headers. */
const MAX_HEADER_BYTES = 256 * 1024;

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Serves the bindings of one worker process and receives its tail. The table of callable services is fixed when the
 * process starts.
 */
export async function startBindingServer({
  script,
  services,
  socket,
  gid,
  onTail,
  onActivity,
  onCall = () => {},
  isIdle,
  log,
}: BindingServerOptions): Promise<SocketServer> {
  const handles = new Map<string, Handle>(
    script.bindings.filter(isRemote).map((binding) => {
      const service = serviceOf(binding, services);
      return [serviceName(binding), (request, response) => service.handle(request, response, { script, binding })];
    }),
  );
  handles.set(TAIL_SERVICE, async (request, response) => {
    const items = (await readJsonBody(request, TAIL_LIMIT)) as TraceItem[];
    response.writeHead(204).end();
    onTail(items);
  });

  const serviceBindings = script.bindings.filter(isWorkerBinding);
  const server = await listenOnSocket(
    socket,
    { gid, maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false },
    (request, response) => {
      onActivity();
      // If the worker forges the header, the forged value arrives joined to the real one by a comma, and so matches no
      // service.
      const name = String(request.headers[SERVICE_HEADER]);
      const handle = handles.get(name);
      if (handle === undefined) return void response.writeHead(403).end("no such binding");
      if (name !== TAIL_SERVICE) onCall();
      handle(request, response).catch((err: unknown) => {
        log.error({ err, script: script.name, binding: name }, `workers: binding failed: ${messageOf(err)}`);
        return sendBindingError(request, response, err);
      });
    },
  );
  server.http.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    onActivity();
    const binding = serviceBindings.find((candidate) => serviceName(candidate) === request.headers[SERVICE_HEADER]);
    if (binding === undefined) return void connection.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    onCall();
    services.service.upgrade(request, connection, head, { script, binding: asServiceBinding(binding) });
  });
  // For RPC, workerd sends CONNECT with only the configured host. connect() in the worker's code adds a port, so it
  // never matches.
  server.http.on("connect", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    onActivity();
    const binding = serviceBindings.find((candidate) => rpcHost(candidate) === request.url);
    if (binding === undefined) return void connection.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    onCall();
    if (head.length > 0) connection.unshift(head);
    services.service.connect(connection, { script, binding: asServiceBinding(binding), isIdle });
  });
  return server;
}

/**
 * A server on a unix socket that closes immediately, including connections that became WebSockets or tunnels, which
 * http.Server no longer tracks.
 */
export interface SocketServer {
  readonly http: Server;
  close(): void;
}

/** HTTP server on a unix socket. Only the server's user and `gid`, the group of the worker process, may connect. */
export async function listenOnSocket(
  path: string,
  { gid, ...options }: { gid?: number | undefined; maxHeaderSize?: number; requireHostHeader?: boolean },
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<SocketServer> {
  // workerd keeps its connections open; the server must not close one at the moment it is reused.
  const http = createServer(
    { ...options, keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, noDelay: true },
    handler,
  );
  const openSockets = new Set<Socket>();
  http.on("connection", (socket: Socket) => {
    openSockets.add(socket);
    socket.once("close", () => openSockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => http.once("error", reject).listen(path, resolve));
  if (gid !== undefined) chownSync(path, process.geteuid!(), gid);
  chmodSync(path, gid === undefined ? 0o600 : 0o660);
  return {
    http,
    close() {
      http.close();
      for (const socket of openSockets) socket.destroy();
    },
  };
}
