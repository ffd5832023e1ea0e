import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { acceptsHtml, sendError } from "../../kernel/design/index.ts";
import { HOP_BY_HOP_FIELDS } from "../../protocol/http/index.ts";
import { responseHeaders, type Site } from "./response-headers.ts";
import { SCHEME_HEADER } from "./capnp.ts";
import type { ClientOf } from "./client.ts";
import { INTERNAL_HEADER_PREFIX, OBJECT_HEADER } from "./inside/shared.ts";
import type { InvocationOutcome } from "./port.ts";
import { RAY_HEADER } from "./tail-items.ts";
import { forwardRequestBody } from "./upload.ts";

export interface Passthrough {
  /** Resolves when the response has ended; responds with 502/503 if the process dies before responding. */
  fetch(id: string, request: IncomingMessage, response: ServerResponse): Promise<InvocationOutcome>;
  /**
   * Resolves with the response status when the connection has ended. `onAnswered` is called when the worker sends data
   * after the client did.
   */
  upgrade(id: string, request: IncomingMessage, client: Duplex, head: Buffer, onResponse: () => void): Promise<number>;
  close(): void;
}

const RETRY_LATER = "Reload the page in a minute.";

/** Only the server may set these headers, and those with the internal prefix. */
const RESERVED = new Set([RAY_HEADER, "cf-connecting-ip", "x-real-ip"]);

/** The hosted service allows 128 KB of headers in a response. */
const MAX_HEADER_BYTES = 256 * 1024;
/**
 * Maximum length of an unread body that workerd drains; for a longer one it closes the connection after the response,
 * and the connection must not be reused. (With `Connection: close` it would drain less.)
 */
const UNREAD_BYTES = 60 * 1024;

interface PassthroughOptions {
  socketPath: string;
  client: ClientOf;
  /** Returns the site that serves the host of a request. */
  siteOf(request: IncomingMessage): Site | undefined;
  /** Resolves with the reason why a process closed the connection; waits for it briefly. */
  findExitCause(err: unknown): Promise<InvocationOutcome>;
  /**
   * True to forward the header that identifies a Durable Object. Only for the service that calls the objects, which
   * other workers reach through the server. Default false.
   */
  callsObjects?: boolean;
  /**
   * True to send errors to browsers as HTML pages; by default, they are sent as text. Not for calls from other workers.
   */
  errorPages?: boolean;
}

/** Body of workerd's response if the handler threw an exception. The response has no Content-Type. */
const EXCEPTION_BODY = Buffer.from("Internal Server Error");

/** Passes HTTP requests to the fetch handler of one worker process. */
export function createHttpPassthrough({
  socketPath,
  client: clientOf,
  siteOf,
  findExitCause,
  callsObjects = false,
  errorPages = false,
}: PassthroughOptions): Passthrough {
  const forwarding = { clientOf, passedOn: callsObjects ? OBJECT_HEADER : undefined };
  const agent = new Agent({
    keepAlive: true,
    maxSockets: Infinity,
    maxFreeSockets: 32,
    timeout: 4000,
    scheduling: "lifo",
  });
  const uploads = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 0 });
  for (const httpAgent of [agent, uploads]) httpAgent.createConnection = () => connectLenient(socketPath);

  return {
    async fetch(id, request, response) {
      const upstreamRequest = httpRequest({
        socketPath,
        agent: isSmall(request) ? agent : uploads,
        method: request.method,
        path: request.url,
        headers: forwardedHeaders(id, request, forwarding),
        setHost: false,
        maxHeaderSize: MAX_HEADER_BYTES,
      });
      let hasFailed = false;
      let isClientGone = false;
      upstreamRequest.once("error", () => (hasFailed = true));
      response.once("close", () => {
        if (response.writableFinished) return;
        isClientGone = !hasFailed;
        upstreamRequest.destroy();
      });
      const responsePromise = new Promise<IncomingMessage>((resolve, reject) =>
        upstreamRequest.once("response", resolve).once("error", reject),
      );
      responsePromise.catch(() => {});
      forwardRequestBody(request, upstreamRequest);
      try {
        const upstreamResponse = await responsePromise;
        upstreamResponse.once("error", () => (hasFailed = true));
        const body =
          errorPages && acceptsHtml(request) && mayReportException(request, upstreamResponse)
            ? Buffer.concat((await upstreamResponse.toArray()) as Buffer[])
            : undefined;
        if (body?.equals(EXCEPTION_BODY) === true) {
          sendError(request, response, {
            status: 500,
            text: "The worker threw an exception. Its log contains the reason.",
            advice: RETRY_LATER,
          });
          return { outcome: "ok" };
        }
        response.writeHead(
          upstreamResponse.statusCode ?? 502,
          upstreamResponse.statusMessage,
          responseHeaders(upstreamResponse.rawHeaders, siteOf(request)),
        );
        if (body === undefined) await pipeline(upstreamResponse, response);
        else response.end(body);
        // workerd itself responds with 500 if the handler threw; the tail contains the exception.
        return { outcome: "ok" };
      } catch (err) {
        if (isClientGone) return { outcome: "canceled" };
        return refuse(errorPages ? request : { headers: {} }, response, await findExitCause(err));
      }
    },
    upgrade(id, request, client, head, onResponse) {
      const headers = [
        ...forwardedHeaders(id, request, forwarding, FRAMING),
        "Connection",
        "Upgrade",
        "Upgrade",
        request.headers.upgrade ?? "websocket",
      ];
      const upstreamRequest = httpRequest({
        socketPath,
        agent: false,
        method: request.method,
        path: request.url,
        headers,
        setHost: false,
        maxHeaderSize: MAX_HEADER_BYTES,
      });
      client.on("error", () => upstreamRequest.destroy()).once("close", () => upstreamRequest.destroy());
      return new Promise((resolve) => {
        upstreamRequest.once("upgrade", (response, upstream, rest) => {
          // Unsolicited data from the worker does not mean that it has completed a request.
          let requestPending = head.length > 0;
          client.on("data", () => void (requestPending = true));
          upstream.on("data", () => {
            if (requestPending) onResponse();
            requestPending = false;
          });
          client.write(
            headOf(response, [
              ...responseHeaders(response.rawHeaders, siteOf(request)),
              "Connection",
              "Upgrade",
              "Upgrade",
              response.headers.upgrade ?? "websocket",
            ]),
            "latin1",
          );
          if (rest.length > 0) client.write(rest);
          if (head.length > 0) upstream.write(head);
          void Promise.allSettled([pipeline(client, upstream), pipeline(upstream, client)]).then(() => resolve(101));
        });
        // Bytes are passed on uninterpreted only if the worker agreed to the upgrade: otherwise a second request could
        // reach it with headers that only the server may set.
        upstreamRequest.once("response", (response) => {
          client.write(
            headOf(response, [...responseHeaders(response.rawHeaders, siteOf(request)), "Connection", "close"]),
            "latin1",
          );
          void pipeline(response, client)
            .catch(() => {})
            .then(() => resolve(response.statusCode ?? 502));
        });
        upstreamRequest.once("error", () => {
          client.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
          resolve(502);
        });
        upstreamRequest.end();
      });
    },
    close() {
      agent.destroy();
      uploads.destroy();
    },
  };
}

/**
 * Returns a connection that survives a failed write: workerd may respond and close while a body is still being sent,
 * and Node would discard the response that has arrived. Data that cannot be written is dropped; the read side
 * determines whether there was a response.
 */
function connectLenient(socketPath: string): Socket {
  const socket = connect(socketPath);
  const write = socket._write.bind(socket);
  const writev = socket._writev!.bind(socket);
  const ignoreBrokenPipe = (callback: (err?: Error | null) => void) => (err?: Error | null) =>
    callback((err as NodeJS.ErrnoException | null)?.code === "EPIPE" ? null : err);
  socket._write = (chunk, encoding, callback) => write(chunk, encoding, ignoreBrokenPipe(callback));
  socket._writev = (chunks, callback) => writev(chunks, ignoreBrokenPipe(callback));
  return socket;
}

function refuse(
  request: Pick<IncomingMessage, "headers" | "method">,
  response: ServerResponse,
  outcome: InvocationOutcome,
): InvocationOutcome {
  if (response.headersSent) response.destroy();
  else
    sendError(request, response, {
      status: outcome.outcome === "exception" ? 502 : 503,
      text: outcome.exception?.message ?? "The worker did not respond.",
      advice: RETRY_LATER,
      headers: { "retry-after": "1" },
    });
  return outcome;
}

/** True if this may be workerd's response to an exception. The body must still be compared. */
const mayReportException = ({ method }: IncomingMessage, { statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 500 &&
  method !== "HEAD" &&
  headers["content-type"] === undefined &&
  headers["content-length"] === String(EXCEPTION_BODY.length);

/** True if the body is absent or known to be small. */
function isSmall({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) <= UNREAD_BYTES;
}

function headOf({ statusCode, statusMessage }: IncomingMessage, headers: string[]): string {
  let lines = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${lines}\r\n`;
}

const FRAMING = new Set(["content-length", "expect"]);
const NO_HEADERS = new Set<string>();

/** `passedOn`: the internal header that is not removed. */
function forwardedHeaders(
  id: string,
  request: IncomingMessage,
  { clientOf, passedOn }: { clientOf: ClientOf; passedOn: string | undefined },
  omittedHeaders = NO_HEADERS,
): string[] {
  const { ip, scheme } = clientOf(request);
  const headers: string[] = [];
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (HOP_BY_HOP_FIELDS.has(name) || RESERVED.has(name) || omittedHeaders.has(name)) continue;
    // A worker or a trace would mistake an internal header of a client for one of the server.
    if (name.startsWith(INTERNAL_HEADER_PREFIX) && name !== passedOn) continue;
    headers.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  // An HTTP/1.0 request may have no Host; workerd would reject it before it reaches a worker, and no tail would ever
  // end the invocation.
  if (request.headers.host === undefined) headers.push("Host", "localhost");
  if (ip !== "") headers.push("CF-Connecting-IP", ip, "X-Real-IP", ip);
  headers.push("CF-Ray", id, SCHEME_HEADER, scheme);
  // A request body of unknown length is sent chunked: Node frames it if neither header is present, but only if it knows
  // that there is a body.
  if (request.headers["transfer-encoding"] !== undefined && omittedHeaders === NO_HEADERS)
    headers.push("Transfer-Encoding", "chunked");
  return headers;
}
