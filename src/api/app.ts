import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { Params } from "hono/router";
import { Fault, type Clock, type Ids, type Log } from "../kernel/index.ts";
import { createLocalLimits, type RateLimits } from "../kernel/rate-limits.ts";
import type { Tracing } from "../kernel/tracing.ts";
import { unavailableProductOf } from "./absent-products.ts";
import { isNormalizedGet, normalizedGetRequest, requestOf, sendResponse, type ApiRequest } from "./api-request.ts";
import { PREFLIGHT, sendEnvelope, withHeaders, writeEnvelope } from "./envelope-writer.ts";
import { authorize, credentialsOf } from "./authorize.ts";
import { API_BASE } from "./base.ts";
import { createBodyMemory } from "./body-memory.ts";
import { createCachedReads, type CachedRead } from "./cached-reads.ts";
import { createCall } from "./call.ts";
import { createChangeRecorders, type ChangeRecorderDeps } from "./change-recorder.ts";
import { success } from "./envelope.ts";
import { failureOf } from "./error-response.ts";
import { apiErrors } from "./errors.ts";
import { mountDocuments } from "./openapi.ts";
import type { OperationResponse, Operation, Route } from "./operation.ts";
import { honoPath, methodsByPath, pathOf, sentPath } from "./paths.ts";
import type { AccessControl, Credentials } from "./ports.ts";
import { createFailureLimiter, createRateLimiter, DEFAULT_RATE_LIMIT, type RateLimit } from "./rate-limit.ts";
import { createReadCache } from "./read-cache.ts";
import { createSegmentRouter } from "./router.ts";

interface ApiOptions {
  routes: Route[];
  accessControl: AccessControl;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
  /**
   * True if the response may contain the version of the program, which is in the OpenAPI document. Default: always
   * true.
   */
  isSignedIn?(incoming: IncomingMessage): Promise<boolean>;
  rateLimit?: RateLimit;
  /** Counts requests and failed attempts. Default: counts within this process. */
  limits?: RateLimits;
  /** Maximum number of bytes of request bodies in memory. Default 256 MiB. */
  bodyMemory?: number;
  /** Returns the client's address. Default: the address of the connection's peer. */
  clientIp?(incoming: IncomingMessage): string | undefined;
  /** Called for every response with its duration. */
  onResponse?(operation: string, status: number, ms: number): void;
  /** The audit log, in which completed changes are recorded before their response is sent. Default: none. */
  changes?: Omit<ChangeRecorderDeps, "routes">;
  /** Called after each change, before the response is complete. */
  onChanged?(operation: Operation, params: Record<string, string>): void;
  /** Records requests. Absent unless traces are enabled. */
  tracing?: Tracing | undefined;
  /** For tests: throws a Fault instead of sending a response that violates its schema. */
  checkResponses?: boolean;
}

type Env = { Bindings: HttpBindings };

export interface Api {
  /** Handles a request. Uses Node's own requests and responses. */
  fetch: Hono<Env>["fetch"];
  /**
   * Handles a read without Hono, whose overhead exceeds the cost of a short response. Returns undefined, without an
   * effect, if `fetch` has to handle the request.
   */
  read(incoming: IncomingMessage, outgoing: ServerResponse): true | Promise<void> | undefined;
}

/** Creates the v4 REST API: routes under /client/v4, and the OpenAPI document. */
export function createApi({
  routes,
  accessControl,
  clock,
  ids,
  log,
  version,
  isSignedIn = async () => true,
  rateLimit = DEFAULT_RATE_LIMIT,
  limits = createLocalLimits(clock),
  bodyMemory,
  clientIp = ({ socket }) => socket.remoteAddress,
  onResponse,
  changes,
  onChanged,
  tracing,
  checkResponses = false,
}: ApiOptions): Api {
  const app = new Hono<Env>({ getPath: sentPath, router: createSegmentRouter() });
  const limit = createRateLimiter(rateLimit, limits);
  const failures = createFailureLimiter(rateLimit, limits);
  const cache = createReadCache<CachedRead>();
  const memory = createBodyMemory(bodyMemory);
  const methods = methodsByPath(routes);
  const reads = createSegmentRouter<(request: ApiRequest) => Promise<Response | undefined>>();
  const recorderOf = changes && createChangeRecorders({ ...changes, routes });

  for (const { operation, handle } of routes) {
    const { method, status: defaultStatus = 200, version: versionOf } = operation;
    const recordChange = recorderOf?.(operation);

    /** Authenticates, authorizes and responds to a request. */
    async function serve(
      request: ApiRequest,
      id: string,
      logged: LoggedResponse,
      reserveMemory: (octets: number) => void,
    ): Promise<Response | undefined> {
      const { incoming, outgoing, params, path } = request;
      const credentials = credentialsOf(incoming.headers, clientIp(incoming));
      const checking = failures.check(credentials.ip, () => accessControl.isKnown?.(credentials.secret) === true);
      if (checking !== undefined) await checking;
      const identify = async (sentCredentials: Credentials) =>
        operation.authenticate === undefined
          ? accessControl.authenticate(sentCredentials)
          : operation.authenticate(sentCredentials.secret);
      const caller = await identify(credentials);
      if (caller === undefined) {
        await failures.failed(credentials.ip);
        throw (operation.authenticationError ?? apiErrors.notAuthenticated)();
      }
      logged.token = caller.tokenId;
      const counting = limit(caller.tokenId);
      if (counting !== undefined) await counting;
      const resource = await authorize(accessControl, caller, operation, params, path);
      const readAt = versionOf?.(params);
      const cachedResponse = readAt === undefined ? undefined : cache.get(incoming.url!, readAt);
      if (cachedResponse !== undefined) return writeEnvelope(outgoing, defaultStatus, id, cachedResponse);

      // The token may be revoked while a slow body is still arriving.
      const isComplete = incoming.complete;
      const confirm = async () => {
        if (isComplete) return caller;
        const now = await identify(credentialsOf(incoming.headers, clientIp(incoming)));
        if (now === undefined) throw apiErrors.notAuthenticated();
        await authorize(accessControl, now, operation, params, path);
        return now;
      };
      // Creating a child log is expensive, and most requests never log anything.
      let child: Log | undefined;
      const call = await createCall(request, {
        id,
        operation,
        caller,
        log: () => (child ??= log.child({ request: id, operation: operation.id })),
        confirm,
        reserveMemory,
      });
      const recordResponse = await recordChange?.(call, { resource, ip: credentials.ip });
      const response = await handle(call);
      await recordResponse?.(response);
      if (response instanceof Response) {
        logged.status = response.status;
        return withHeaders(response, id);
      }
      if (checkResponses) check(operation, response);
      const text = JSON.stringify(success(response));
      if (readAt !== undefined) cache.put(incoming.url!, readAt, text, { operation, params });
      logged.status = response.status ?? defaultStatus;
      return writeEnvelope(outgoing, logged.status, id, text);
    }

    /** Responds to a request, even if its handler fails. Returns a response that has yet to be sent. */
    async function respond(request: ApiRequest, logged: LoggedResponse): Promise<Response | undefined> {
      const id = ids.hex();
      const startedAt = performance.now();
      const body = memory.open();
      try {
        return await serve(request, id, logged, body.reserve);
      } catch (thrown) {
        const { status, envelope, headers } = failureOf(
          thrown,
          id,
          () => log.child({ request: id, operation: operation.id }),
          operation.translate,
        );
        logged.status = status;
        return writeEnvelope(request.outgoing, status, id, JSON.stringify(envelope), headers);
      } finally {
        body.release();
        const ms = performance.now() - startedAt;
        onResponse?.(operation.id, logged.status, ms);
        if (method !== "get" && logged.status < 400) onChanged?.(operation, request.params);
        // Changes are logged with their caller; reads are not logged.
        if (method !== "get")
          log.info(
            { request: id, operation: operation.id, ...logged, params: request.params, ms: Math.round(ms) },
            "api: request completed",
          );
      }
    }

    if (method === "get")
      reads.add("GET", API_BASE + honoPath(operation.path), (request) => respond(request, { status: defaultStatus }));
    app.on(method, API_BASE + honoPath(operation.path), async (context) => {
      const logged: LoggedResponse = { status: defaultStatus };
      const request = requestOf(context);
      if (tracing === undefined) return (await respond(request, logged)) ?? RESPONSE_ALREADY_SENT;
      const attributes = { "http.request.method": context.req.method, "http.route": API_BASE + operation.path };
      return tracing.run(
        `api ${operation.id}`,
        { kind: "server", parent: context.env.incoming.headers, attributes },
        async (span) => {
          const response = await respond(request, logged);
          span.set({ "http.response.status_code": logged.status });
          if (logged.status >= 500) span.fail(`status ${logged.status}`);
          return response ?? RESPONSE_ALREADY_SENT;
        },
      );
    });
  }

  mountDocuments(app, { routes, version, isSignedIn });
  for (const {
    operation: { path, options },
  } of routes) {
    if (options !== undefined)
      app.options(
        API_BASE + honoPath(path),
        () => new Response(null, { status: 204, headers: { ...PREFLIGHT, ...options } }),
      );
  }
  app.options(`${API_BASE}/*`, () => new Response(null, { status: 204, headers: PREFLIGHT }));
  // Not registered as a route: a second match would send every request through Hono's middleware.
  app.notFound(({ req, env }) => {
    const id = ids.hex();
    const path = req.path.slice(API_BASE.length);
    const allow = methods(path).join(", ");
    const { status, envelope, headers } = failureOf(
      allow === "" ? noRoute(path) : apiErrors.methodNotAllowed({ allowed: allow, allow }),
      id,
      () => log,
    );
    return sendEnvelope((env as HttpBindings).outgoing, status, id, JSON.stringify(envelope), headers);
  });
  const { cached } = accessControl;
  // A cached read is synchronous, but counts that are shared with other processes are read asynchronously.
  const respondFromMemory =
    cached === undefined || limits.isShared
      ? () => false
      : createCachedReads({ cache, cached, ids, limit: (token) => void limit(token), clientIp, onResponse });

  function read(incoming: IncomingMessage, outgoing: ServerResponse): true | Promise<void> | undefined {
    if (tracing !== undefined || !isNormalizedGet(incoming)) return undefined;
    if (respondFromMemory(incoming, outgoing)) return true;
    const path = pathOf(incoming.url!);
    const [[match]] = reads.match("GET", path) as [[[(request: ApiRequest) => Promise<Response | undefined>, Params]?]];
    if (match === undefined) return undefined;
    const [respond, params] = match;
    const request = normalizedGetRequest(incoming, outgoing, path, params);
    return respond(request).then((response) => response && sendResponse(request, response));
  }

  return { fetch: app.fetch, read };
}

function noRoute(path: string) {
  const product = unavailableProductOf(path);
  return product === undefined ? apiErrors.noRoute() : apiErrors.productAbsent({ product });
}

interface LoggedResponse {
  status: number;
  token?: string;
}

function check({ id, result }: Operation, response: OperationResponse): void {
  const parsed = result?.safeParse(response.result);
  if (parsed?.success === false)
    throw new Fault(`the response of ${id} does not match its declared schema: ${parsed.error.message}`);
}
