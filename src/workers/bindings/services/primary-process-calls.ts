import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline, type Duplex } from "node:stream";
import type { PrimaryProcess, PrimaryProcessService } from "../../../kernel/primary-process.ts";
import { messageOf, type Log } from "../../../kernel/index.ts";
import { pipeBoth } from "../../../kernel/pipe-both.ts";
import { OBJECTS_ENTRYPOINT } from "../../runtime/remote-bindings.ts";
import { rejectTunnel } from "../../runtime/service-calls/tunnel.ts";
import type { ServiceTarget, WorkerCalls } from "./port.ts";

/**
 * Calls to Durable Objects for several processes on one machine. Only the primary process runs objects, because their
 * files belong to one workerd process. In the others, a worker's own classes are bound like those of another worker
 * (objects/script-objects.ts), and each call to an object goes to the primary process.
 */

/** The service of the primary process that handles calls to Durable Objects. */
export const OBJECT_CALLS = "object-calls";

type Call = { transport: "http" | "rpc"; target: ServiceTarget };

/** R2 request metadata and the address of an object are sent in headers. */
const MAX_HEADER_BYTES = 256 * 1024;
const LOST_TEXT =
  "The process that runs the Durable Object stopped before it responded. The call may have taken effect.";
/** Headers of one connection (RFC 9110 7.6.1); node:http sets them for the next one. */
const CONNECTION_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** Sends calls to Durable Objects to the primary process, and all others to `calls`. */
export function sendObjectCallsToPrimaryProcess(
  calls: WorkerCalls,
  { connect }: Pick<PrimaryProcess, "connect">,
  { log }: { log: Log },
): WorkerCalls {
  const isToObject = ({ entrypoint }: ServiceTarget) => entrypoint.name === OBJECTS_ENTRYPOINT;
  const open = (transport: Call["transport"], target: ServiceTarget, signal?: AbortSignal) =>
    connect(OBJECT_CALLS, { transport, target } satisfies Call, signal);
  function logFailure(err: unknown, { worker, account }: ServiceTarget): string {
    const message = messageOf(err);
    log.warn({ worker, account, reason: message }, "workers: failed to call a Durable Object");
    return message;
  }

  return {
    async fetch(target, request, response) {
      if (!isToObject(target)) return calls.fetch(target, request, response);
      const gone = new AbortController();
      response.once("close", () => gone.abort(new Error("the caller disconnected")));
      try {
        relayRequest(await open("http", target, gone.signal), request, response);
      } catch (err) {
        if (gone.signal.aborted) return;
        sendFailure(request, response, logFailure(err, target));
      }
      if (!gone.signal.aborted) await new Promise((resolve) => void response.once("close", resolve));
    },
    upgrade(target, request, socket, head) {
      if (!isToObject(target)) return calls.upgrade(target, request, socket, head);
      socket.on("error", () => socket.destroy());
      open("http", target).then(
        (connection) => {
          connection.write(headOf(request), "latin1");
          if (head.length > 0) connection.write(head);
          pipeBoth(socket, connection);
        },
        (err: unknown) => {
          logFailure(err, target);
          socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        },
      );
    },
    rpc(target, socket, caller) {
      if (!isToObject(target)) return calls.rpc(target, socket, caller);
      socket.on("error", () => socket.destroy());
      open("rpc", target).then(
        (connection) => pipeBoth(socket, connection),
        (err: unknown) => rejectTunnel(socket, logFailure(err, target)),
      );
    },
  };
}

/** Sends a request on a new connection, and its response to the caller. */
function relayRequest(connection: Socket, request: IncomingMessage, response: ServerResponse) {
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const upstream = httpRequest({
    createConnection: () => connection,
    method: request.method,
    path: request.url,
    headers: [...headersOf(request), ...(isChunked ? ["transfer-encoding", "chunked"] : [])],
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  let isAnswered = false;
  const fail = () => {
    if (!isAnswered && !response.destroyed) sendFailure(request, response, LOST_TEXT);
    else response.destroy();
  };
  upstream
    .once("response", (answer) => {
      isAnswered = true;
      response.writeHead(answer.statusCode!, answer.statusMessage!, headersOf(answer) as never);
      response.flushHeaders();
      pipeline(answer, response, () => {
        if (!answer.complete) response.destroy();
      });
    })
    .on("error", fail)
    // The response may end before the request does.
    .once("close", () => request.unpipe(upstream).resume());
  response.once("close", () => connection.destroy());
  if (isChunked || (request.headers["content-length"] ?? "0") !== "0") request.pipe(upstream);
  else upstream.end();
}

function sendFailure(request: IncomingMessage, response: ServerResponse, text: string) {
  request.resume();
  response.writeHead(503, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
}

/** Returns the headers that belong to the message, as a flat list. */
function headersOf({ rawHeaders }: IncomingMessage): string[] {
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!CONNECTION_HEADERS.has(rawHeaders[i]!.toLowerCase())) headers.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  return headers;
}

/** Returns the head of an upgrade request exactly as it was received. */
function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  let head = `${method} ${url} HTTP/1.1\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Handles the calls of other processes to the Durable Objects of this one. */
export function serveObjectCalls(calls: WorkerCalls): PrimaryProcessService {
  const targets = new WeakMap<object, { target: ServiceTarget; stopping: AbortSignal }>();
  // Never listens: it handles the connections that are passed to it.
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false, keepAliveTimeout: 0, requestTimeout: 0 },
    (request, response) => void calls.fetch(targets.get(request.socket)!.target, request, response),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Like a deploy, a restart closes the WebSockets of objects.
    const { stopping } = targets.get(socket)!;
    const close = () => socket.destroy();
    stopping.addEventListener("abort", close, { once: true });
    socket.once("close", () => stopping.removeEventListener("abort", close));
    calls.upgrade(targets.get(socket)!.target, request, socket, head);
  });
  return async (call, connection, stopping) => {
    const closed = new Promise<void>((resolve) => void connection.once("close", resolve));
    const { transport, target } = call as Call;
    if (target.entrypoint.name !== OBJECTS_ENTRYPOINT) throw new Error("the call is not to a Durable Object");
    // Several pipelines and their owners each add listeners; together they exceed the default limit.
    connection.setMaxListeners(20);
    if (transport === "rpc") {
      // The caller does not report its running invocations, so until this process stops, any may be about to send a call.
      calls.rpc(target, connection, { isIdle: () => stopping.aborted, stopping });
    } else {
      targets.set(connection, { target, stopping });
      server.emit("connection", connection);
    }
    await closed;
  };
}
