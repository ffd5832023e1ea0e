import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, UserError } from "../../kernel/index.ts";
import { type Access, viewerOf } from "../access/index.ts";
import { createAccountHostCheck } from "../customers/index.ts";
import { streamErrors } from "../errors.ts";
import { parseVideoPath, type RouteMatch, routeFinder, type VideoPath } from "./paths.ts";
import { httpError, sendErrorResponse } from "./refusal.ts";
import type { DeliveryRoute, PublicRoute } from "./route.ts";
import { createDeliveryMemory, createDeliveryContext } from "./viewing.ts";

interface DeliveryOptions {
  routes: readonly DeliveryRoute[];
  /** Routes without an access check. They override `routes`. */
  publicRoutes?: readonly PublicRoute[];
  access: Access;
  /** Path before `/{id}`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Returns the client's IP address behind trusted proxies. */
  address(request: IncomingMessage): string;
  /** Scheme and host as seen by the viewer. */
  origin(request: IncomingMessage): string;
  /**
   * Domain whose hosts `customer-<code>.<domain>` serve only the videos of their account. If absent or empty, there are
   * no such hosts.
   */
  domain?: string;
  log: Log;
}

interface Delivery {
  /**
   * Resolves with false, without sending a response, if the request is not for the URL of a video. Accepts every
   * method.
   */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

/**
 * Handles all requests under `/{id}`, where `id` is a uid or a signed token: checks access, then calls the matching
 * route.
 */
export function createDelivery({
  routes,
  publicRoutes = [],
  access,
  base = "",
  address,
  origin,
  domain = "",
  log,
}: DeliveryOptions): Delivery {
  const find = routeFinder(routes);
  const findPublic = new Map(publicRoutes.map((route) => [route.path, route]));
  const memory = createDeliveryMemory();
  const isAccountHost = createAccountHostCheck(domain);

  async function serveRoute(
    { route, params }: RouteMatch,
    { id, query }: VideoPath,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const ownOrigin = origin(request);
    const viewer = viewerOf(request.headers, { ip: address(request), self: ownOrigin });
    const video = await access.check(id, route.purpose, viewer);
    if (!isAccountHost(request.headers.host, video.account)) throw streamErrors.videoNotFound({ uid: video.uid });
    // The page shows its own error text.
    if (video.state === "error" && route.purpose !== "page")
      throw streamErrors.videoFailed({ code: video.errorReason?.code ?? "ERR_UNKNOWN" });
    await route.handle(
      createDeliveryContext({ video, id, base, origin: ownOrigin, params, query, viewer, request, response, memory }),
    );
  }

  return {
    async handle(request, response) {
      const videoPath = parseVideoPath(request.url!, base);
      if (videoPath === undefined) return false;
      for (const [name, value] of PUBLIC_HEADERS) response.setHeader(name, value);
      const isHead = request.method === "HEAD";
      if (request.method === "OPTIONS") return sendPreflight(response);
      const publicRoute = findPublic.get(videoPath.rest);
      const match =
        publicRoute === undefined
          ? find(request.method!, videoPath.rest)
          : !isHead && request.method !== "GET"
            ? "method"
            : publicRoute;
      if (match === "method") response.setHeader("allow", "GET, HEAD, OPTIONS");
      if (typeof match !== "object")
        sendErrorResponse(response, {
          page: false,
          head: isHead,
          ...(match === "method"
            ? { status: 405, message: "This URL accepts only GET." }
            : { status: 404, message: "A video has no resource at this path." }),
        });
      else {
        try {
          if ("read" in match) sendJson(await match.read(videoPath.id, request.headers.host), response, isHead);
          else await serveRoute(match, videoPath, request, response);
        } catch (err) {
          handleError(err, "route" in match && match.route.purpose === "page", request, response);
        }
      }
      return true;
    },
  };

  function handleError(err: unknown, page: boolean, request: IncomingMessage, response: ServerResponse) {
    if (response.destroyed) return;
    const isUserError = err instanceof UserError;
    if (!isUserError)
      log.error({ err, path: request.url!.replace(/eyJ[\w.-]+/, "(token)") }, "stream: failed to deliver a video");
    // A response that fails after its length was sent is aborted; otherwise it would look complete.
    if (response.headersSent) return void response.destroy();
    for (const name of ["etag", "content-disposition"]) response.removeHeader(name);
    sendErrorResponse(response, {
      page,
      head: request.method === "HEAD",
      ...(isUserError ? httpError(err) : { status: 500, message: "Internal error. See the server log." }),
    });
  }
}

/** Players on any page may read media; access is decided by `allowedOrigins`, not by CORS. */
const PUBLIC_HEADERS = [
  ["access-control-allow-origin", "*"],
  [
    "access-control-expose-headers",
    "Content-Length, Content-Range, Date, ETag, Stream-Media-Id, Preview-Start-Seconds",
  ],
  ["cross-origin-resource-policy", "cross-origin"],
  ["timing-allow-origin", "*"],
  ["x-content-type-options", "nosniff"],
] as const;

function sendJson(value: object, response: ServerResponse, isHead: boolean): void {
  const body = JSON.stringify(value);
  response
    .writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
    })
    .end(isHead ? undefined : body);
}

function sendPreflight(response: ServerResponse): true {
  response
    .writeHead(204, {
      "access-control-allow-methods": "GET, HEAD, OPTIONS",
      "access-control-allow-headers": "*",
      "access-control-max-age": "86400",
    })
    .end();
  return true;
}
