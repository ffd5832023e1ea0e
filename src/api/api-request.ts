import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { getQueryParams, tryDecodeURIComponent } from "hono/utils/url";

type HonoContext = Context<{ Bindings: HttpBindings }>;

/** A request to an operation. */
export interface ApiRequest {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** As sent, without the query. */
  path: string;
  /** Decoded parameters of the path. */
  params: Record<string, string>;
  /** Decoded values, by query parameter. */
  queries(): Record<string, string[]>;
  /** Created on first use, because it costs more than a short response. */
  readonly raw: Request;
}

export const requestOf = (context: HonoContext): ApiRequest => new HonoRequest(context);

/** A class: for each object literal with accessors, V8 allocates new ones in the old generation. */
class HonoRequest implements ApiRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly path: string;
  readonly params: Record<string, string>;
  readonly #request: HonoContext["req"];

  constructor({ req, env }: HonoContext) {
    this.incoming = env.incoming as IncomingMessage;
    this.outgoing = env.outgoing as ServerResponse;
    this.path = req.path;
    this.params = req.param();
    this.#request = req;
  }

  queries(): Record<string, string[]> {
    return this.#request.queries();
  }

  get raw(): Request {
    return this.#request.raw;
  }
}

/** The targets and hosts that need no normalization to become a URL. */
const PLAIN_TARGET = /^\/[\w!$&-;=?@~%]*$/;
const DOT_SEGMENT = /\/\.\.?(?:[/?]|$)/;
const PLAIN_HOST = /^[a-z0-9.-]+(?::(?:\d{1,4}|[1-5]\d{4}))?$/;

/** True for a GET request without a body whose URL is in normal form. */
export function isNormalizedGet({ method, url, headers }: IncomingMessage): boolean {
  const { host } = headers;
  return (
    method === "GET" &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    host !== undefined &&
    PLAIN_HOST.test(host) &&
    PLAIN_TARGET.test(url!) &&
    !DOT_SEGMENT.test(url!)
  );
}

/**
 * Returns a plain GET request. `params` may be encoded; the function decodes them in place, and the request keeps them.
 */
export function normalizedGetRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  path: string,
  params: Record<string, string>,
): ApiRequest {
  for (const name in params) if (params[name]!.includes("%")) params[name] = tryDecodeURIComponent(params[name]!);
  return new PlainGetRequest(incoming, outgoing, path, params);
}

/** A class for the same reason. */
class PlainGetRequest implements ApiRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly path: string;
  readonly params: Record<string, string>;
  #request: Request | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, path: string, params: Record<string, string>) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.path = path;
    this.params = params;
  }

  queries(): Record<string, string[]> {
    return getQueryParams(this.#url()) as Record<string, string[]>;
  }

  get raw(): Request {
    return (this.#request ??= new Request(this.#url(), {
      headers: headersOf(this.incoming),
      signal: signalOf(this.outgoing),
    }));
  }

  #url(): string {
    return `http://${this.incoming.headers.host}${this.incoming.url}`;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
  return headers;
}

/** Returns a signal that aborts if the client disconnects before it has the whole response. */
function signalOf(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort("Client connection prematurely closed.");
  });
  return gone.signal;
}

/** Sends a Fetch API `Response`. */
export const sendResponse = (
  { incoming, outgoing }: Pick<ApiRequest, "incoming" | "outgoing">,
  response: Response,
): Promise<void> => getRequestListener(() => response, { overrideGlobalObjects: false })(incoming, outgoing);
