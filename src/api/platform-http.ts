import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { closeGracefully, HTTP_SERVER_OPTIONS, listen, type Log } from "../kernel/index.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import type { LiveWorkers, ScriptRef } from "../workers/index.ts";
import type { createApi } from "./app.ts";
import { API_BASE } from "./base.ts";
import { cutIdleBody } from "./body-patience.ts";
import { createHttpsServer } from "./https-server.ts";
import { lingerBeforeClose } from "./lingering-close.ts";
import { destinationOf, namesTwoHosts, type Destination } from "./platform-host.ts";

export interface PlatformHttpOptions {
  /** Absent: this process does not serve the API. */
  api?: ReturnType<typeof createApi>;
  /** Absent: this process runs no workers. */
  workers?: {
    live: Pick<LiveWorkers, "fetch" | "upgrade">;
    bySubdomain(label: string, script: string): Promise<ScriptRef | undefined>;
    /** The label of the account whose workers are at /workers/<script>/ too. */
    defaultLabel(): Promise<string | undefined>;
  };
  /** Below it a host name names a worker, also where this process runs none: "workers.example.com". */
  domain: string;
  /** `customer-<code>.<this>`, with or without a port, has what `others` answer and nothing else; empty: no host has. */
  videoDomain?: string;
  /** Takes an upgrade that is its own (a tail) and returns true. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Paths of the platform itself: `/healthz`. */
  pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void | Promise<void>>;
  /** By the beginning of the path, which ends in a slash; any method. */
  prefixes?: Record<string, (request: IncomingMessage, response: ServerResponse) => void | Promise<void>>;
  /** Asked in turn for what lies below `/.well-known/` (RFC 8615), whatever the host, before all others; false: not one of its requests. */
  wellKnown?: readonly ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>)[];
  /** Asked in turn for what is not the API, a worker, a prefix or a page; false: not one of its requests. */
  others?: readonly ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>)[];
  log: Log;
  /** How long close() waits for requests under way before it cuts them. Default 30 s. */
  graceMs?: number;
}

export interface PlatformHttp {
  /** `fd`: a socket that listens already. `tls`: for HTTPS. Once for each address. Rejects with UserError when the port is taken. */
  listen(address: { host: string; port: number; fd?: number }, tls?: TlsSource): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

/** How long connections stay open without a request while the server stops. */
const IDLE_MS = 500;
/** How long a body for the API or a transfer may stand still. What is sent to a worker is the worker's to wait for. */
const BODY_IDLE_MS = 60_000;

const NO_UPGRADE = "HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n";

const SERVER_OPTIONS = { ...HTTP_SERVER_OPTIONS, shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === "websocket" };

/** The HTTP port of the platform, and HTTPS where it is wanted: the API, the workers' own addresses, and the server's health. */
export function createPlatformHttp({ api, workers, domain, videoDomain = "", upgrade, pages, prefixes = {}, wellKnown = [], others = [], log, graceMs = 30_000 }: PlatformHttpOptions): PlatformHttp {
  const servers: Server[] = [];
  const upgraded = new Set<Duplex>();
  const onApi = api && getRequestListener(api.fetch, { overrideGlobalObjects: false });
  const pick = (request: IncomingMessage): Destination => destinationOf(request.url!, request.headers.host, domain, videoDomain);

  async function refOf(destination: Exclude<Destination, { kind: "platform" | "video" }>): Promise<ScriptRef | undefined> {
    if (workers === undefined) return undefined;
    const label = destination.kind === "worker" ? destination.label : await workers.defaultLabel();
    return label === undefined ? undefined : workers.bySubdomain(label, destination.script);
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    if (namesTwoHosts(request.rawHeaders)) return refuse(response, 400, "A request names one host.", { connection: "close" });
    if (request.url!.startsWith("/.well-known/") && wellKnown.length > 0) return onWellKnown(request, response);
    return onUsual(request, response);
  }

  async function onWellKnown(request: IncomingMessage, response: ServerResponse) {
    for (const respond of wellKnown) if (await respond(request, response)) return;
    await onUsual(request, response);
  }

  function onUsual(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    const destination = pick(request);
    if (destination.kind === "platform" || destination.kind === "video") {
      cutIdleBody(request, BODY_IDLE_MS);
      lingerBeforeClose(request);
    }
    if (destination.kind === "platform" && onApi !== undefined && destination.path.startsWith(`${API_BASE}/`)) return onApi(request, response);
    return onOther(destination, request, response);
  }

  async function onOther(destination: Destination, request: IncomingMessage, response: ServerResponse) {
    if (destination.kind === "video") {
      for (const respond of others) if (await respond(request, response)) return;
      return refuse(response, 404, "There is nothing under this path: only videos are at this host.");
    }
    if (destination.kind !== "platform") {
      const ref = await refOf(destination);
      if (ref === undefined) return refuse(response, 404, "There is nothing here yet: no worker is deployed under this address.");
      request.url = destination.url;
      await workers!.live.fetch(ref, request, response);
      return;
    }
    if (destination.path.startsWith(`${API_BASE}/`)) return refuse(response, 404, "This process does not serve the API.");
    const prefix = Object.keys(prefixes).find((beginning) => destination.path.startsWith(beginning));
    if (prefix !== undefined) return prefixes[prefix]!(request, response);
    const page = pages[destination.path];
    if (page === undefined) for (const respond of others) if (await respond(request, response)) return;
    if (page === undefined) return refuse(response, 404, "There is nothing under this path. The front page, /, names what there is.");
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, 405, `${destination.path} is read with GET.`, { allow: "GET, HEAD" });
    await page(request, response);
  }

  async function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    if (namesTwoHosts(request.rawHeaders)) return void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    const destination = pick(request);
    if (destination.kind === "platform") {
      if (upgrade?.(request, socket, head) !== true) socket.end(NO_UPGRADE);
      return;
    }
    if (destination.kind === "video") return void socket.end(NO_UPGRADE);
    const ref = await refOf(destination);
    if (ref === undefined) return void socket.end(NO_UPGRADE);
    request.url = destination.url;
    workers!.live.upgrade(ref, request, socket, head);
  }

  function answerOn(server: Server) {
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      onRequest(request, response)?.catch((err: unknown) => {
        log.error({ err }, "a request failed");
        if (response.headersSent) response.destroy();
        else refuse(response, 500, "The server failed. Its log tells why.");
      });
    });
    server.on("upgrade", (request, socket, head) => {
      upgraded.add(socket);
      // Node, this file and two pipelines each want to hear of its end: more than the ten that Node takes for a leak.
      socket.setMaxListeners(20);
      socket.once("close", () => upgraded.delete(socket));
      socket.on("error", () => socket.destroy());
      onUpgrade(request, socket, head).catch((err: unknown) => {
        log.error({ err }, "an upgrade failed");
        socket.destroy();
      });
    });
  }

  return {
    async listen(address, tls) {
      const server = tls === undefined ? createServer(SERVER_OPTIONS) : createHttpsServer(SERVER_OPTIONS, tls);
      answerOn(server);
      servers.push(server);
      const bound = await listen(server, address);
      server.on("error", (err) => log.error({ err }, "http server"));
      return tls === undefined ? bound : { ...bound, url: bound.url.replace("http:", "https:") };
    },
    async close() {
      const closed = Promise.all(servers.map((server) => closeGracefully(server, graceMs, IDLE_MS)));
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

function refuse(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers }).end(`${text}\n`);
}
