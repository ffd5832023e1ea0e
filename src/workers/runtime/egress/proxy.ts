import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../../kernel/index.ts";
import { HOP_BY_HOP_FIELDS } from "../../../protocol/http/index.ts";
import { listenOnSocket, type SocketServer } from "../binding-server.ts";
import { ACTIONS_HOST } from "../inside/shared.ts";
import { forwardRequestBody } from "../upload.ts";
import { connectTo, EgressFailed, EgressDenied, systemLookup, type Lookup, type EgressTarget } from "./connect.ts";
import type { EgressCheck } from "./policy.ts";

interface EgressProxyOptions {
  socket: string;
  /** Group that may connect in addition to the server's user. */
  gid?: number | undefined;
  check: EgressCheck;
  lookup?: Lookup;
  /** Handles requests to the actions host: a live message's forward() and reply(). */
  actions(request: IncomingMessage, response: ServerResponse): Promise<void>;
  onActivity(): void;
  /** Called for every fetch and socket. */
  onFetch?(): void;
  /** Maximum number of open connections per worker. */
  maxConnections?: number;
}

const MAX_HEADER_BYTES = 256 * 1024;
const ACTIONS_ORIGIN = `http://${ACTIONS_HOST}`;
const NOT_FORWARDED = new Set([...HOP_BY_HOP_FIELDS, "proxy-authenticate", "proxy-authorization"]);

/**
 * Starts the only outbound path of a worker: `fetch()` arrives as a request in absolute form (RFC 9112 3.2.2) and
 * `connect()` as CONNECT. The proxy adds TLS, so a worker's https request arrives here in clear text over its own unix
 * socket.
 */
export async function startEgressProxy({
  socket,
  gid,
  check,
  lookup = systemLookup,
  actions,
  onActivity,
  onFetch = () => {},
  maxConnections = 256,
}: EgressProxyOptions): Promise<SocketServer> {
  let openCount = 0;
  const countRequest = (closable: { once(event: "close", decrement: () => void): unknown }) => {
    onFetch();
    if (openCount >= maxConnections)
      throw new EgressDenied(`a worker can have at most ${maxConnections} open connections`);
    openCount++;
    closable.once("close", () => openCount--);
  };

  const server = await listenOnSocket(
    socket,
    { gid, requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES },
    (request, response) => {
      onActivity();
      const handled = request.url!.startsWith(ACTIONS_ORIGIN)
        ? handleAction(request, response)
        : forward(request, response, parse(request.url));
      handled.catch((err: unknown) => answer(response, err));
    },
  );
  server.http.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    onActivity();
    client.on("error", () => client.destroy());
    tunnel(request, client, head).catch((err: unknown) =>
      client.end(
        `HTTP/1.1 403 Forbidden\r\ncontent-length: ${Buffer.byteLength(messageOf(err))}\r\n\r\n${messageOf(err)}`,
      ),
    );
  });
  server.http.on("upgrade", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    onActivity();
    client.on("error", () => client.destroy());
    upgrade(request, client, head).catch((err: unknown) =>
      client.end(
        `HTTP/1.1 502 Bad Gateway\r\ncontent-length: ${Buffer.byteLength(messageOf(err))}\r\n\r\n${messageOf(err)}`,
      ),
    );
  });
  return server;

  /** Like any server, the actions host expects a request with only a path. */
  async function handleAction(request: IncomingMessage, response: ServerResponse) {
    request.url = request.url!.slice(ACTIONS_ORIGIN.length);
    await actions(request, response);
  }

  async function forward(request: IncomingMessage, response: ServerResponse, url: URL | undefined) {
    if (url === undefined) throw new EgressDenied("only http: and https: URLs can be fetched");
    countRequest(response);
    const connection = await connectTo(targetOf(url), { check, lookup });
    const upstreamRequest = httpRequest({
      method: request.method,
      path: url.pathname + url.search,
      headers: forwardedHeaders(request, url.host),
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      createConnection: () => connection,
    });
    if (response.destroyed) upstreamRequest.destroy();
    response.once("close", () => upstreamRequest.destroy());
    const responsePromise = new Promise<IncomingMessage>((resolve, reject) =>
      upstreamRequest.once("response", resolve).once("error", reject),
    );
    responsePromise.catch(() => {});
    forwardRequestBody(request, upstreamRequest);
    const upstreamResponse = await responsePromise.catch((err: unknown) => {
      throw new EgressFailed(521, `${url.host}: ${messageOf(err)}`, { cause: err });
    });
    response.writeHead(
      upstreamResponse.statusCode ?? 502,
      upstreamResponse.statusMessage,
      filterHeaders(upstreamResponse.rawHeaders),
    );
    await pipeline(upstreamResponse, response);
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer) {
    const url = new URL(`tcp://${request.url}`);
    countRequest(client);
    const connection = await connectTo({ host: url.hostname, port: Number(url.port), tls: false }, { check, lookup });
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    await pipeBoth(client, connection, head);
  }

  async function upgrade(request: IncomingMessage, client: Duplex, head: Buffer) {
    const url = parse(request.url);
    if (url === undefined) throw new EgressDenied("only http: and https: URLs can be fetched");
    countRequest(client);
    const connection = await connectTo(targetOf(url), { check, lookup });
    const lines = filterHeaders(request.rawHeaders, (name) => name === "connection" || name === "upgrade").map(
      ([name, value]) => `${name}: ${value}`,
    );
    connection.write(
      `${[`${request.method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, ...lines].join("\r\n")}\r\n\r\n`,
      "latin1",
    );
    await pipeBoth(client, connection, head);
  }
}

function parse(text: string | undefined): URL | undefined {
  const url = URL.canParse(text ?? "") ? new URL(text!) : undefined;
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

const targetOf = (url: URL): EgressTarget => ({
  host: url.hostname,
  port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
  tls: url.protocol === "https:",
});

/** Returns the raw headers as pairs, without those for the proxy itself, except those that `keep` accepts. */
function filterHeaders(rawHeaders: string[], keep: (name: string) => boolean = () => false): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (!NOT_FORWARDED.has(name) || keep(name)) list.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  }
  return list;
}

function forwardedHeaders(request: IncomingMessage, host: string): string[] {
  const headers = filterHeaders(request.rawHeaders).filter(([name]) => name.toLowerCase() !== "host");
  // Node frames a body of unknown length automatically only for some methods; the body of a DELETE would be sent
  // unframed, as if it were the next request.
  const framing = request.headers["transfer-encoding"] === undefined ? [] : ["Transfer-Encoding", "chunked"];
  return ["Host", host, ...headers.flat(), ...framing];
}

async function pipeBoth(client: Duplex, connection: Duplex, head: Buffer): Promise<void> {
  if (head.length > 0) connection.write(head);
  await Promise.allSettled([pipeline(client, connection), pipeline(connection, client)]);
}

function answer(response: ServerResponse, err: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const status = err instanceof EgressDenied ? 403 : err instanceof EgressFailed ? err.status : 502;
  response
    .writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      "x-reelpost-egress": status === 403 ? "refused" : "failed",
    })
    .end(`${messageOf(err)}\n`);
}
