import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { closeGracefully, HTTP_SERVER_OPTIONS, listen, trackUnused, type Log } from "../kernel/index.ts";
import { enableProxyProtocol, type ProxyReceiver } from "../kernel/proxy-protocol/index.ts";
import { loadDocs } from "./docs/docs-files.ts";
import { createDashboardFiles, type DashboardFiles } from "./files.ts";
import { DATA_HEADERS, type UsedOrigins } from "./headers.ts";
import { refusalOf } from "./origin.ts";
import { createPages } from "./pages.ts";
import { sendErrorPage, sendText } from "./send.ts";

/** The v4 API of this process. */
interface DashboardApi {
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
  /** Handles an upgrade request (a tail) and returns true. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
}

/** URLs of the server as the browser of a request reaches it. */
interface ServerUrls {
  /** Origin of the API and of the workers by path, without a trailing slash. */
  api: string;
  /** Origin of uploads. */
  upload: string;
  /** URL pattern of a worker: `http://<worker>.main.localhost:8787`. If absent, this process runs none. */
  worker?: string;
  /** Base URL of videos, or a pattern with `<code>`. If absent, this process serves none. */
  video?: string;
  /** `host:port` of the SMTP listener. */
  smtp?: string;
}

export interface DashboardOptions {
  /** `dev`: a development server, without accounts and sign-in. */
  mode: "serve" | "dev";
  version: string;
  /** True if the response may contain the version. Default: always true. */
  isSignedIn?(request: IncomingMessage): Promise<boolean>;
  /** Maximum bytes of one request of a resumable upload; 0: no limit. Default 0. */
  chunkBytes?: number;
  api: DashboardApi;
  /** Handles `/auth/*`: sign-in. Resolves with false if there is no such endpoint. Absent: 404. */
  auth?(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Host names under which the dashboard is served, besides localhost and IP addresses. */
  hosts: readonly string[];
  /** `hostname`: the host name of the request, without a port. */
  urls(hostname: string): ServerUrls;
  /** Other origins of the server for the Content-Security-Policy, besides those in `urls`. */
  mediaOrigins?: readonly string[];
  /** Names of optional parts that the pages show. */
  features?: readonly string[];
  log: Log;
  /** Reads the PROXY headers of load balancers. Default: no peer sends one. */
  receive?: ProxyReceiver;
  /** How long close() waits for pending requests. Default 5 s. */
  graceMs?: number;
  /** For tests: replaces the bundled files. */
  files?: DashboardFiles;
  /** For tests: replaces the documentation. */
  docs?: DashboardFiles;
}

export interface Dashboard {
  /** True if the host name (lower case, without a port) belongs to the dashboard on the HTTP ports of the server. */
  isHost(host: string): boolean;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Opens the dashboard's own listener. Rejects with UserError if the port is in use. */
  listen(address: { host: string; port: number; fd?: number }): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

const API_PREFIX = "/client/v4/";
const AUTH_PREFIX = "/auth/";

/**
 * Creates the dashboard on an origin of its own: its pages, the v4 API and sign-in. It sets no cookies, because
 * browsers would also send them to workers on other ports of the same host.
 */
export function createDashboard({
  mode,
  version,
  isSignedIn = async () => true,
  chunkBytes = 0,
  api,
  auth,
  hosts,
  urls,
  mediaOrigins = [],
  features = [],
  log,
  receive,
  graceMs = 5000,
  files = createDashboardFiles({ log }),
  docs = createDashboardFiles({ log, load: loadDocs }),
}: DashboardOptions): Dashboard {
  const names = new Set(hosts.map((host) => host.toLowerCase()));
  const isHost = (host: string) => names.has(host);
  const answerPage = createPages(files, docs);
  const upgraded = new Set<Duplex>();
  const servers: { close(): Promise<void> }[] = [];

  const usedOrigins = ({ api: apiOrigin, upload, worker, video }: ServerUrls): UsedOrigins => ({
    api: [apiOrigin, upload],
    media: [worker, video].flatMap((url) => (url === undefined ? [] : [originPattern(url)])).concat(mediaOrigins),
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request, { isConfigured: isHost });
    if (refusal !== undefined) return sendErrorPage(request, response, refusal.status, { text: refusal.reason });
    const path = request.url!.split("?", 1)[0]!;
    const serverUrls = urls(hostNameOf(request));
    if (path.startsWith(API_PREFIX)) {
      nameHost(request, new URL(serverUrls.api).host);
      setHeaders(response, DATA_HEADERS);
      return api.handle(request, response);
    }
    if (path.startsWith(AUTH_PREFIX)) {
      if (auth === undefined) return sendText(response, 404, "Not found.");
      setHeaders(response, DATA_HEADERS);
      if (!(await auth(request, response))) sendText(response, 404, "Not found.");
      return;
    }
    if (path === "/app.json") {
      const info = {
        mode,
        ...((await isSignedIn(request)) && { version }),
        urls: serverUrls,
        features,
        ...(chunkBytes > 0 && { chunkBytes }),
      };
      response.writeHead(200, { ...DATA_HEADERS, "content-type": "application/json" });
      response.end(JSON.stringify(info));
      return;
    }
    return answerPage(request, response, usedOrigins(serverUrls));
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refusal = refusalOf(request, { isConfigured: isHost });
    const status = refusal === undefined ? "404 Not Found" : `${refusal.status} Forbidden`;
    if (refusal === undefined) nameHost(request, new URL(urls(hostNameOf(request)).api).host);
    if (refusal !== undefined || api.upgrade?.(request, socket, head) !== true)
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
  }

  return {
    isHost,
    handle,
    upgrade,
    async listen(address) {
      const server = createServer({
        ...HTTP_SERVER_OPTIONS,
        shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
      });
      server.on("request", (request: IncomingMessage, response: ServerResponse) => {
        handle(request, response).catch((err: unknown) => {
          log.error({ err }, "dashboard: request failed");
          if (response.headersSent) response.destroy();
          else sendErrorPage(request, response, 500, { text: "Internal error. See the server log." });
        });
      });
      server.on("upgrade", (request, socket, head) => {
        upgraded.add(socket);
        socket.once("close", () => upgraded.delete(socket)).on("error", () => socket.destroy());
        upgrade(request, socket, head);
      });
      const unused = trackUnused(server);
      if (receive !== undefined) enableProxyProtocol(server, receive);
      const boundAddress = await listen(server, address);
      server.on("error", (err) => log.error({ err }, "dashboard: HTTP server failed"));
      servers.push({ close: () => closeGracefully(server, { graceMs, unused }) });
      // Passkeys require a domain name, and browsers accept localhost, but no address.
      return { ...boundAddress, url: boundAddress.url.replace("//127.0.0.1:", "//localhost:") };
    },
    async close() {
      const closed = Promise.all(servers.map((server) => server.close()));
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

function setHeaders(response: ServerResponse, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** The API derives URLs in its responses from the Host header. It does not serve uploads and videos on this origin. */
function nameHost(request: IncomingMessage, host: string): void {
  request.headers.host = host;
  const { rawHeaders } = request;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]!.toLowerCase() === "host") rawHeaders[index + 1] = host;
}

const hostNameOf = ({ headers: { host = "" } }: IncomingMessage) => host.replace(/:\d+$/, "").toLowerCase();

/** `http://<worker>.main.localhost:8787/x` as a source of a policy: `http://*.main.localhost:8787`. */
function originPattern(url: string): string {
  return /^https?:\/\/[^/]+/.exec(url.replace(/[\w-]*<[\w-]+>/g, "*"))?.[0] ?? url;
}
