import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { acceptsHtml, errorPage, PAGE_POLICY } from "../kernel/design/index.ts";
import { isForwarded } from "../kernel/client-address.ts";
import { closeGracefully, HTTP_SERVER_OPTIONS, listen, trackUnused, type Log } from "../kernel/index.ts";
import { createConnectionCount, type ConnectionLimits } from "../kernel/connection-limits.ts";
import { enableProxyProtocol, type ProxyReceiver } from "../kernel/proxy-protocol/index.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import type { LiveWorkers, ScriptRef } from "../workers/index.ts";
import { API_BASE } from "./base.ts";
import { type ApiApp, createApiHandler } from "./api-handler.ts";
import { cutIdleBody } from "./body-patience.ts";
import { createHttpsServer } from "./https-server.ts";
import type { NodeForwarding } from "./node-forwarding.ts";
import { createMissingRoleFinder } from "./missing-role.ts";
import { lingerBeforeClose } from "./lingering-close.ts";
import {
  destinationOf,
  hostName,
  mayBeRouted,
  namesTwoHosts,
  type Destination,
  type HostNames,
} from "./platform-host.ts";

export interface PlatformHttpOptions {
  /** If absent, this process does not serve the API. */
  api?: ApiApp;
  /** If absent, this process does not run workers. */
  workers?: {
    live: Pick<LiveWorkers, "fetch" | "upgrade">;
    bySubdomain(label: string, script: string): Promise<ScriptRef | undefined>;
    /** Resolves with the worker that a route or custom domain selects for the request. */
    route?(request: IncomingMessage): ScriptRef | undefined | Promise<ScriptRef | undefined>;
    /** Resolves with the label of the account whose workers are also reachable under /workers/<script>/. */
    defaultLabel(): Promise<string | undefined>;
  };
  /** All host names of the server, including those that this process does not serve. */
  hosts: HostNames;
  /** Handles an upgrade request (a tail) and returns true. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Handlers for exact paths of the platform, such as `/healthz`. */
  pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void | Promise<void>>;
  /** Handlers for path prefixes that end with a slash; for any method. */
  prefixes?: Record<string, (request: IncomingMessage, response: ServerResponse) => void | Promise<void>>;
  /**
   * Serves scripts and styles of platform pages if videos have separate hosts. Resolves with false for any other
   * request.
   */
  assets?(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /**
   * Returns the handler of a host that is not part of the platform, such as an S3 endpoint or a public bucket. Takes
   * the host name in lower case, without a port.
   */
  sites?(host: string): SiteHandler | undefined | Promise<SiteHandler | undefined>;
  /** The dashboard: an origin of its own at these host names. */
  dashboard?: {
    /** Takes the host name in lower case, without a port. */
    isHost(host: string): boolean;
    handle: SiteHandler;
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
  /**
   * Handlers for `/.well-known/` (RFC 8615) on any host, called one after another before all others; false means not
   * handled.
   */
  wellKnown?: readonly ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>)[];
  /** Handlers for all remaining requests, called one after another; false means not handled. */
  others?: readonly ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>)[];
  /** Forwards requests for roles that this process lacks. Default: none are forwarded. */
  forwarding?: NodeForwarding;
  log: Log;
  /** Connection limits across all listeners. Default: no limit. */
  connections?: ConnectionLimits;
  /** Reads the PROXY headers of load balancers. Default: none are expected. */
  receive?: ProxyReceiver;
  /** How long a request body may stall, in ms. Default: 1 minute for the platform, 5 minutes for workers. */
  bodyIdleMs?: { platform: number; worker: number };
  /** How long close() waits for pending requests. Default 30 s. */
  graceMs?: number;
}

type SiteHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface PlatformHttp {
  /**
   * Listens on an address; call it once per address. `fd`: a listening socket. `tls`: enables HTTPS. Rejects with
   * UserError if the port is in use.
   */
  listen(address: { host: string; port: number; fd?: number }, tls?: TlsSource): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
  /** Handlers for requests that other nodes have forwarded; see markForwarded(). */
  forwarded: {
    request(request: IncomingMessage, response: ServerResponse): void;
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
}

/**
 * Idle time after which connections are closed during shutdown. `UNUSED_MS` applies to connections that have not
 * carried a request yet.
 */
const IDLE_MS = 500;
const UNUSED_MS = 5000;
/** Longer for workers, because their clients may stream live data with pauses. */
const BODY_IDLE_MS = { platform: 60_000, worker: 300_000 };

/** URL prefix of uploads. If the platform has an upload host, they are accepted only there. */
export const UPLOADS = "/upload/";
const PROBES = new Set(["/healthz", "/readyz", "/metrics"]);

const TOO_MANY_RESPONSE =
  "HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const LIMIT_WARNING_MS = 60_000;

const NO_UPGRADE_RESPONSE = "HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n";

const SERVER_OPTIONS = {
  ...HTTP_SERVER_OPTIONS,
  shouldUpgradeCallback: (request: IncomingMessage) => request.headers.upgrade?.toLowerCase() === "websocket",
};

/** Creates the HTTP and HTTPS ports of the platform: the API, the workers' URLs, and the health endpoints. */
export function createPlatformHttp({
  api,
  workers,
  hosts,
  upgrade,
  pages,
  prefixes = {},
  assets,
  sites = () => undefined,
  dashboard,
  wellKnown = [],
  others = [],
  forwarding,
  log,
  connections,
  receive,
  bodyIdleMs = BODY_IDLE_MS,
  graceMs = 30_000,
}: PlatformHttpOptions): PlatformHttp {
  const servers: { server: Server; unused: ReturnType<typeof trackUnused> }[] = [];
  const upgraded = new Set<Duplex>();
  const onApi = api && createApiHandler(api, { bodyIdleMs: bodyIdleMs.platform });
  const isDashboard = (request: IncomingMessage) => dashboard?.isHost(hostName(request.headers.host)) === true;
  function pick(request: IncomingMessage): Destination | Promise<Destination> {
    const { host } = request.headers;
    const defaultDestination = destinationOf(request.url!, host, hosts);
    const route = mayBeRouted(defaultDestination, host, hosts)
      ? (workers?.route ?? forwarding?.route)?.(request)
      : undefined;
    const destinationFor = (ref: ScriptRef | undefined): Destination =>
      ref === undefined ? defaultDestination : { kind: "routed", script: ref.script, ref, url: request.url! };
    return route instanceof Promise ? route.then(destinationFor) : destinationFor(route);
  }

  async function refOf(destination: Extract<Destination, { script: string }>): Promise<ScriptRef | undefined> {
    if (destination.kind === "routed") return destination.ref;
    if (workers === undefined) return undefined;
    const label = destination.kind === "worker" ? destination.label : await workers.defaultLabel();
    return label === undefined ? undefined : workers.bySubdomain(label, destination.script);
  }

  /** If videos have separate hosts, they are served only there. */
  const onPlatform =
    hosts.platformHosts?.length && (hosts.videoDomain ?? "") !== "" ? (assets === undefined ? [] : [assets]) : others;

  async function onUploads(path: string, request: IncomingMessage, response: ServerResponse) {
    if (path.startsWith(UPLOADS) && prefixes[UPLOADS] !== undefined) return prefixes[UPLOADS](request, response);
    if (assets !== undefined && (await assets(request, response))) return;
    reject(response, 404, "Not found: this host serves only uploads.");
  }

  /** Health probes use the IP address instead of a host name. */
  function onUnknown(path: string, request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    if (PROBES.has(path) && pages[path] !== undefined) return pages[path](request, response);
    reject(response, 421, "Unknown host name. The setting api.hosts lists the names of this server.");
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    if (namesTwoHosts(request.rawHeaders))
      return reject(response, 400, "A request must have exactly one Host header.", { connection: "close" });
    if (request.url!.startsWith("/.well-known/") && wellKnown.length > 0) return onWellKnown(request, response);
    return onDefaultRequest(request, response);
  }

  async function onWellKnown(request: IncomingMessage, response: ServerResponse) {
    for (const respond of wellKnown) if (await respond(request, response)) return;
    await onDefaultRequest(request, response);
  }

  const missingRole =
    forwarding &&
    createMissingRoleFinder({
      forwarding,
      pick,
      isPage: (path) => pages[path] !== undefined,
      hasUploadHost: (hosts.uploadHost ?? "") !== "",
    });

  function onDefaultRequest(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    if (missingRole !== undefined && !isForwarded(request)) return forwardOrHandle(request, response);
    return handleHere(request, response);
  }

  async function forwardOrHandle(request: IncomingMessage, response: ServerResponse) {
    const role = await missingRole!(request);
    if (role === undefined || !forwarding!.canForward(role)) return handleHere(request, response);
    cutIdleBody(request, role === "workers" ? bodyIdleMs.worker : bodyIdleMs.platform);
    lingerBeforeClose(request);
    const failure = await forwarding!.send(role, request, response);
    if (failure !== undefined) reject(response, failure.status, failure.text, { "retry-after": "1" });
  }

  function handleHere(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    if (isDashboard(request)) return dashboard!.handle(request, response);
    const site = sites(hostName(request.headers.host));
    if (site === undefined) return handlePlatform(request, response);
    return handleSite(site, request, response);
  }

  async function handleSite(
    siteHandler: SiteHandler | Promise<SiteHandler | undefined>,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const site = await siteHandler;
    if (site === undefined) return handlePlatform(request, response);
    cutIdleBody(request, bodyIdleMs.platform);
    lingerBeforeClose(request);
    await site(request, response);
  }

  function handlePlatform(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    const destination = pick(request);
    return destination instanceof Promise
      ? destination.then((found) => onDestination(found, request, response))
      : onDestination(destination, request, response);
  }

  function onDestination(
    destination: Destination,
    request: IncomingMessage,
    response: ServerResponse,
  ): void | Promise<void> {
    if (destination.kind === "platform" && onApi !== undefined && destination.path.startsWith(`${API_BASE}/`))
      return onApi(request, response);
    if (!("script" in destination)) {
      cutIdleBody(request, bodyIdleMs.platform);
      lingerBeforeClose(request);
    } else {
      cutIdleBody(request, bodyIdleMs.worker, 1);
    }
    return onOther(destination, request, response);
  }

  async function onOther(destination: Destination, request: IncomingMessage, response: ServerResponse) {
    if (destination.kind === "video") {
      for (const respond of others) if (await respond(request, response)) return;
      return reject(response, 404, "Not found: this host serves only videos.");
    }
    if (destination.kind === "upload") return onUploads(destination.path, request, response);
    if (destination.kind === "unknown") return onUnknown(destination.path, request, response);
    if (destination.kind !== "platform") {
      // A service worker would persist in the browser and intercept requests to a host shared by other workers.
      if (destination.kind === "default-account-worker" && request.headers["service-worker"] !== undefined)
        return reject(response, 403, "Service workers are available only at the worker's own host name.");
      const ref = await refOf(destination);
      if (ref === undefined) return reject(response, 404, "Not found: no worker is deployed at this address.");
      request.url = destination.url;
      await workers!.live.fetch(ref, request, response);
      return;
    }
    if (destination.path.startsWith(`${API_BASE}/`))
      return reject(response, 404, "This process does not serve the API.");
    const prefix = Object.keys(prefixes).find(
      (beginning) =>
        destination.path.startsWith(beginning) && (beginning !== UPLOADS || (hosts.uploadHost ?? "") === ""),
    );
    if (prefix !== undefined) return prefixes[prefix]!(request, response);
    const page = pages[destination.path];
    if (page === undefined) for (const respond of onPlatform) if (await respond(request, response)) return;
    if (page === undefined)
      return reject(response, 404, "Not found. The front page (/) links to the dashboard and the API reference.");
    if (request.method !== "GET" && request.method !== "HEAD")
      return reject(response, 405, `${destination.path} accepts only GET.`, { allow: "GET, HEAD" });
    await page(request, response);
  }

  async function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    if (namesTwoHosts(request.rawHeaders))
      return void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    if (missingRole !== undefined && !isForwarded(request)) {
      const role = await missingRole(request);
      if (role !== undefined && forwarding!.canForward(role)) return forwarding!.upgrade(role, request, socket, head);
    }
    if (isDashboard(request)) return dashboard!.upgrade(request, socket, head);
    const destination = await pick(request);
    if (destination.kind === "platform") {
      if (upgrade?.(request, socket, head) !== true) socket.end(NO_UPGRADE_RESPONSE);
      return;
    }
    if (!("script" in destination)) return void socket.end(NO_UPGRADE_RESPONSE);
    const ref = await refOf(destination);
    if (ref === undefined) return void socket.end(NO_UPGRADE_RESPONSE);
    request.url = destination.url;
    workers!.live.upgrade(ref, request, socket, head);
  }

  const count = connections && createConnectionCount(connections);
  const warnOfLimit = createOccasional(LIMIT_WARNING_MS, (limit: string, ip: string | undefined) =>
    log.warn(
      { ip, limit },
      "http: connection limit reached, refusing connections (http.connections, http.connections_per_address)",
    ),
  );

  /** The response fits into the socket buffer. Before the TLS handshake no response can be sent. */
  function limitConnections(server: Server, secure: boolean) {
    server.prependListener("connection", (socket: Socket) => {
      const limit = count!.admit(socket);
      if (limit === undefined) return;
      warnOfLimit(limit, socket.remoteAddress);
      socket.on("error", () => {});
      if (!secure) socket.write(TOO_MANY_RESPONSE);
      socket.destroySoon();
    });
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    onRequest(request, response)?.catch((err: unknown) => {
      log.error({ err }, "http: request failed");
      if (response.headersSent) response.destroy();
      else reject(response, 500, "Internal error. See the server log.");
    });
  }

  function answerUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    onUpgrade(request, socket, head).catch((err: unknown) => {
      log.error({ err }, "http: upgrade failed");
      socket.destroy();
    });
  }

  function answerOn(server: Server) {
    server.on("request", answer);
    server.on("upgrade", (request, socket, head) => {
      upgraded.add(socket);
      // Node, this file and two pipelines each add close listeners, which would exceed Node's leak warning threshold of
      // ten.
      socket.setMaxListeners(20);
      socket.once("close", () => upgraded.delete(socket));
      socket.on("error", () => socket.destroy());
      answerUpgrade(request, socket, head);
    });
  }

  return {
    forwarded: { request: answer, upgrade: answerUpgrade },
    async listen(address, tls) {
      const server = tls === undefined ? createServer(SERVER_OPTIONS) : createHttpsServer(SERVER_OPTIONS, tls);
      if (count !== undefined) limitConnections(server, tls !== undefined);
      answerOn(server);
      servers.push({ server, unused: trackUnused(server) });
      if (receive !== undefined) enableProxyProtocol(server, receive);
      const boundAddress = await listen(server, address);
      server.on("error", (err) => log.error({ err }, "http: server error"));
      return tls === undefined ? boundAddress : { ...boundAddress, url: boundAddress.url.replace("http:", "https:") };
    },
    async close() {
      const closed = Promise.all(
        servers.map(({ server, unused }) =>
          closeGracefully(server, { graceMs, idleMs: IDLE_MS, unused, unusedMs: UNUSED_MS }),
        ),
      );
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

/** Wraps a function so that it is called at most once per `ms`. */
function createOccasional<Given extends unknown[]>(
  ms: number,
  call: (...given: Given) => void,
): (...given: Given) => void {
  let last = -Infinity;
  return (...given) => {
    if (performance.now() - last < ms) return;
    last = performance.now();
    call(...given);
  };
}

/** Sends an error as a page to browsers, and as a line of text to other clients. */
function reject(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  const isPage = acceptsHtml(response.req);
  response.writeHead(status, {
    "content-type": `${isPage ? "text/html" : "text/plain"}; charset=utf-8`,
    ...(isPage && { "content-security-policy": PAGE_POLICY }),
    ...headers,
  });
  response.end(isPage ? errorPage({ status, advice: text }) : `${text}\n`);
}
