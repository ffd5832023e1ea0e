import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { getPath } from "hono/utils/url";
import { Fault, type Clock, type Ids, type Log } from "../kernel/index.ts";
import { authorize, credentialsOf } from "./authorize.ts";
import { API_BASE } from "./base.ts";
import { DEFAULT_BODY_BYTES, readBounded, readForm, readJson } from "./body.ts";
import { errorResponse } from "./error-response.ts";
import { invalidInput, success } from "./envelope.ts";
import { apiErrors } from "./errors.ts";
import { mountDocuments } from "./openapi.ts";
import type { Answer, Call, Operation, Route } from "./operation.ts";
import type { Gate } from "./ports.ts";
import { createRateLimiter, DEFAULT_RATE_LIMIT, type RateLimit } from "./rate-limit.ts";

export interface ApiOptions {
  routes: Route[];
  gate: Gate;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
  rateLimit?: RateLimit;
  /** Where a request comes from. Default: the peer of its connection. */
  clientIp?(incoming: IncomingMessage): string | undefined;
  /** Tests: an answer that does not fit its declared schema is a Fault instead of going out. */
  checkAnswers?: boolean;
}

type Env = { Bindings: HttpBindings };

const CORS = {
  // Tokens are sent by scripts, never by the browser itself: any page may ask, and none is let in by that.
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "cf-ray, x-request-id, retry-after, etag, location",
};
const PREFLIGHT = { ...CORS, "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, HEAD", "access-control-allow-headers": "*, authorization", "access-control-max-age": "7200" };

/** The v4 REST API: routes below /client/v4, and the document that describes them. */
export function createApi({ routes, gate, clock, ids, log, version, rateLimit = DEFAULT_RATE_LIMIT, clientIp = ({ socket }) => socket.remoteAddress, checkAnswers = false }: ApiOptions): Hono<Env> {
  const app = new Hono<Env>({ getPath: sentPath });
  const limit = createRateLimiter(rateLimit, clock);
  const methods = methodsByPath(routes);

  for (const { operation, handle } of mostExactFirst(routes)) {
    app.on(operation.method, API_BASE + honoPath(operation.path), async (context) => {
      const id = ids.hex();
      const call = createCall(context, id, operation, log);
      const answered = (response: Response) => (operation.method === "get" ? response : told(response, call, clock.now() - startedAt));
      const startedAt = clock.now();
      try {
        const caller = await gate.authenticate(credentialsOf(context.req.raw.headers, clientIp(context.env.incoming)));
        if (caller === undefined) throw (operation.refusal ?? apiErrors.notAuthenticated)();
        limit(caller.tokenId);
        await authorize(gate, caller, operation, call.params, context.req.path);
        await readInput(call, operation, context);
        const answer = await handle(Object.assign(call, { caller }));
        if (answer instanceof Response) return answered(withHeaders(answer, id));
        if (checkAnswers) check(operation, answer);
        return answered(context.json(success(answer), (answer.status ?? operation.status ?? 200) as 200, headersOf(id)));
      } catch (thrown) {
        return answered(errorResponse(context, thrown, { id, log: call.log, headers: headersOf(id) }));
      }
    });
  }

  mountDocuments(app, { routes, version });
  app.options(`${API_BASE}/*`, () => new Response(null, { status: 204, headers: PREFLIGHT }));
  app.all(`${API_BASE}/*`, (context) => {
    const id = ids.hex();
    const allowed = methods(context.req.path.slice(API_BASE.length));
    const error = allowed.length === 0 ? apiErrors.noRoute() : apiErrors.methodNotAllowed({ allowed: allowed.join(", ") });
    return errorResponse(context, error, { id, log, headers: { ...headersOf(id), ...(allowed.length > 0 && { allow: allowed.join(", ") }) } });
  });
  return app;
}

/**
 * The path as it was sent, so that a parameter is decoded once and keys of every kind arrive: a parser of URLs takes `%2e%2e` and `..` for ways
 * upwards, and Hono would match what is decoded already, where `%0A` is a line break that no pattern crosses.
 */
function sentPath(request: Request, options?: { env?: HttpBindings }): string {
  const target = options?.env?.incoming?.url;
  return target?.startsWith("/") ? target.split("?", 1)[0]! : getPath(request);
}

// cf-ray is where clients of the hosted API look for what to quote in a report.
const headersOf = (id: string) => ({ ...CORS, "cf-ray": id.slice(0, 16), "x-request-id": id });

function withHeaders(response: Response, id: string): Response {
  for (const [name, value] of Object.entries(headersOf(id))) response.headers.set(name, value);
  return response;
}

/** What was changed, by whom, is a line in the log; reads are not. */
function told(response: Response, { caller, params, log }: Call, ms: number): Response {
  log.info({ ...(caller !== undefined && { token: caller.tokenId, user: caller.user.email }), params, status: response.status, ms }, "api");
  return response;
}

function createCall({ req, env }: Context<Env>, id: string, operation: Operation, log: Log): Call {
  const request = req.raw;
  const limit = operation.maxBytes ?? DEFAULT_BODY_BYTES;
  let child: Log | undefined;
  return {
    id,
    params: req.param(),
    query: undefined,
    body: undefined,
    caller: undefined as never,
    // A child costs more than many a request; most never log.
    get log() {
      return (child ??= log.child({ request: id, operation: operation.id }));
    },
    request,
    bytes: () => readBounded(request, limit),
    form: () => readForm(request, limit),
    node: env,
  };
}

async function readInput(call: Call, { query, body, bodyOptional = false, maxBytes = DEFAULT_BODY_BYTES }: Operation, { req }: Context<Env>): Promise<void> {
  if (query !== undefined) {
    const parsed = query.safeParse(single(req.queries()));
    if (!parsed.success) throw invalidInput(parsed.error, "query");
    call.query = parsed.data;
  }
  if (body === undefined) return;
  const parsed = body.safeParse((await readJson(call.request, maxBytes)) ?? (bodyOptional ? {} : undefined));
  if (!parsed.success) throw invalidInput(parsed.error, "body");
  call.body = parsed.data;
}

/** A parameter given once is a text, more often a list. */
const single = (queries: Record<string, string[]>) => Object.fromEntries(Object.entries(queries).map(([name, values]) => [name, values.length === 1 ? values[0] : values]));

function check({ id, result }: Operation, answer: Answer): void {
  const parsed = result?.safeParse(answer.result);
  if (parsed?.success === false) throw new Fault(`the answer of ${id} is not what it declares: ${parsed.error.message}`);
}

const honoPath = (path: string) => path.replace(/\{(\w+)\+\}/g, ":$1{.+}").replace(/\{(\w+)\}/g, ":$1");

/** The first match wins, so `/tokens/verify` goes before `/tokens/{token_id}`. */
const mostExactFirst = (routes: Route[]) => [...routes].sort((a, b) => rank(a.operation.path).localeCompare(rank(b.operation.path)));
const rank = (path: string) => path.split("/").map((segment) => (segment.endsWith("+}") ? "3" : segment.startsWith("{") ? "2" : `1${segment}`)).join("/");

function methodsByPath(routes: Route[]): (path: string) => string[] {
  const patterns = new Map<RegExp, string[]>();
  for (const [path, group] of Map.groupBy(routes, ({ operation }) => operation.path)) {
    const pattern = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{\w+\\\+\}/g, ".+").replace(/\{\w+\}/g, "[^/]+");
    patterns.set(new RegExp(`^${pattern}$`), group.map(({ operation }) => operation.method.toUpperCase()));
  }
  return (path) => [...new Set([...patterns].filter(([pattern]) => pattern.test(path)).flatMap(([, methods]) => methods))];
}
