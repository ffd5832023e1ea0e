import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { closeGracefully, HTTP_SERVER_OPTIONS, listen, messageOf, type Log } from "../../kernel/index.ts";
import type { Analytics, WorkerRuntime } from "../../workers/index.ts";
import { serveAnalyticsSql, isAnalyticsSql } from "./analytics-sql.ts";
import type { Receive } from "./receive.ts";
import { hasLocalHost, isCrossOrigin } from "./cross-origin.ts";
import { SCHEDULED_PATH, runScheduled } from "./scheduled.ts";
import { noSuchWorker, pickWorker } from "./worker-choice.ts";

interface Options {
  runtime: Pick<WorkerRuntime, "fetch" | "scheduled" | "upgrade">;
  receive: Receive;
  /** Worker names, the default one first. */
  workers: readonly string[];
  /** Why a worker cannot respond (its first build failed); undefined if it can. */
  unavailable: (worker: string) => string | undefined;
  /** Handles requests under the video path. Resolves with false for other paths. */
  video: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
  /** Handles requests to the S3 API. */
  s3: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Handles requests to the storage API, whose prefix has been removed from the URL. */
  storage: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Opens the WebSocket connection of a tail; returns true if the request was for one. */
  tails: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;
  /** The data points that workers have written, for the SQL API. */
  analytics: Pick<Analytics, "query">;
  /** Fields of the health response besides `status`. */
  health: () => Record<string, unknown>;
  /** Resolves with the response of the metrics endpoint, in Prometheus text format. */
  metrics: () => Promise<{ contentType: string; body: string }>;
  log: Log;
  /** How long close() waits for pending requests. Default 5 s. */
  graceMs?: number;
}

interface DevHttp {
  /** Listens on an address. Port 0 selects a free port. Rejects with UserError if the port is in use. */
  listen(address: { host: string; port: number }): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

const HEALTH_PATH = "/cdn-cgi/reelpost/health";
const METRICS_PATH = "/cdn-cgi/reelpost/metrics";

/** Prefix of `/<video>/…` and `/upload/…`; all other paths belong to the worker. */
export const VIDEO_PREFIX = "/cdn-cgi/stream/";

/** Path of the S3 endpoint of the R2 buckets. */
export const S3_PREFIX = "/cdn-cgi/s3/";

/** Some clients omit the trailing slash of the endpoint. */
const isS3 = (url: string) => url.startsWith(S3_PREFIX) || /^\/cdn-cgi\/s3(?:\?|$)/.test(url);

/** Path prefix of the storage API, which the command line uses. */
export const STORAGE_PREFIX = "/cdn-cgi/reelpost/storage";

/** Paths of a video page in older and newer versions of the hosted platform's local simulator. */
const SIMULATOR_WATCH = /^\/(?:cdn-cgi\/mf|__cf_local)\/stream\/([\w.-]+)\/watch(?:\?|$)/;

const FORMS: Record<string, "query" | "headers"> = {
  "/cdn-cgi/handler/email": "query",
  "/cdn-cgi/local/email": "query",
  "/__email": "headers",
};

/**
 * Creates the development HTTP server: the HTTP endpoints for mail, a health path, and the worker's fetch handler for all other
 * requests.
 */
export function createDevHttp({
  runtime,
  receive,
  workers,
  unavailable,
  video,
  s3,
  storage,
  tails,
  analytics,
  health,
  metrics,
  log,
  graceMs = 5000,
}: Options): DevHttp {
  const server = createServer({
    ...HTTP_SERVER_OPTIONS,
    // Ignores an offer to upgrade to HTTP/2 (`Upgrade: h2c`) and reads the body as usual (RFC 9110 7.8).
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === "websocket",
  });
  const upgraded = new Set<Duplex>();

  function onRequest(request: IncomingMessage, response: ServerResponse, continued = true) {
    const watchedVideo = SIMULATOR_WATCH.exec(request.url!)?.[1];
    if (watchedVideo !== undefined)
      return void response.writeHead(302, { location: `${VIDEO_PREFIX}${watchedVideo}/watch` }).end();
    if (request.url!.startsWith(VIDEO_PREFIX))
      return void onVideo(request, response, continued).catch((err: unknown) => answerFailure(err, response));
    if (isS3(request.url!)) {
      if (!hasLocalHost(request)) {
        response.shouldKeepAlive = false;
        return sendTextError(
          response,
          403,
          `The S3 endpoint does not answer requests for the host ${JSON.stringify(request.headers.host ?? "")}: use localhost or an IP address.`,
        );
      }
      if (!continued) response.writeContinue();
      return void s3(request, response).catch((err: unknown) => answerFailure(err, response));
    }
    if (request.url!.startsWith(`${STORAGE_PREFIX}/`)) {
      request.url = request.url!.slice(STORAGE_PREFIX.length);
      if (!continued) response.writeContinue();
      return void storage(request, response).catch((err: unknown) => answerFailure(err, response));
    }
    if (isAnalyticsSql(request.url!)) {
      if (isCrossOrigin(request))
        return sendTextError(response, 403, "The SQL API rejects requests from other sites' pages");
      if (!continued) response.writeContinue();
      return void serveAnalyticsSql(analytics, request, response).catch((err: unknown) => answerFailure(err, response));
    }
    const choice = pickWorker(request.url!, request.headers.host, workers);
    // The client may still send the body that it held back, or may not, so the connection cannot be reused (RFC 9110
    // 10.1.1).
    if (!continued) response.shouldKeepAlive = false;
    if (choice.unknown !== undefined) return sendTextError(response, 404, noSuchWorker(choice.unknown, workers));
    const { worker, path, query } = choice;
    const form = FORMS[path];
    if ((form !== undefined || path === SCHEDULED_PATH) && isCrossOrigin(request))
      return sendTextError(response, 403, `${path} rejects requests from other sites' pages`);
    if (form !== undefined) {
      if (request.method !== "POST")
        return sendTextError(response, 405, `${path} requires POST with a message`, { allow: "POST" });
      receive({ form, worker, query, request, response, continued }).catch((err: unknown) =>
        answerFailure(err, response),
      );
      return;
    }
    if (path === HEALTH_PATH) return answerHealth(response);
    if (path === METRICS_PATH)
      return void answerMetrics(response).catch((err: unknown) => answerFailure(err, response));
    if (path === SCHEDULED_PATH)
      return void runScheduled({ runtime, worker, workers, unavailable, query, request, response }).catch(
        (err: unknown) => answerFailure(err, response),
      );
    const unavailableReason = unavailable(worker);
    if (unavailableReason !== undefined) return sendTextError(response, 503, unavailableReason);
    if (!continued) response.writeContinue();
    request.url = choice.url;
    runtime.fetch(worker, request, response).catch((err: unknown) => answerFailure(err, response));
  }

  async function onVideo(request: IncomingMessage, response: ServerResponse, continued: boolean) {
    if (!continued) response.writeContinue();
    if (!(await video(request, response))) sendTextError(response, 404, "Not found: no video resource at this path.");
  }

  function answerHealth(response: ServerResponse) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ status: "ok", ...health() }));
  }

  async function answerMetrics(response: ServerResponse) {
    const { contentType, body } = await metrics();
    response.writeHead(200, { "content-type": contentType }).end(body);
  }

  function answerFailure(err: unknown, response: ServerResponse) {
    log.error({ err }, "dev: request failed");
    if (response.headersSent) response.destroy();
    else sendTextError(response, 500, `The development server failed: ${messageOf(err)}`);
  }

  server.on("request", (request, response) => onRequest(request, response));
  // With this listener the server decides when to send "100 Continue", so a message that is too large is rejected
  // before the client sends it.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) =>
    onRequest(request, response, false),
  );
  server.on("upgrade", (request, socket, head) => {
    const choice = pickWorker(request.url!, request.headers.host, workers);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", () => socket.destroy());
    if (tails(request, socket, head)) return;
    if (choice.unknown !== undefined || unavailable(choice.worker) !== undefined)
      return void socket.end("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n");
    request.url = choice.url;
    runtime.upgrade(choice.worker, request, socket, head);
  });

  return {
    async listen(address) {
      const boundAddress = await listen(server, address);
      server.on("error", (err) => log.error({ err }, "http: server error"));
      return boundAddress;
    },
    close() {
      const closed = closeGracefully(server, { graceMs });
      // A WebSocket may stay open indefinitely.
      for (const socket of upgraded) socket.destroy();
      return closed;
    },
  };
}

export function sendTextError(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers }).end(text);
}
