import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { getQueryParams, tryDecodeURIComponent } from "hono/utils/url";

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

export const requestOf = ({ req, env }: Context<{ Bindings: HttpBindings }>): ApiRequest => ({
  ...env,
  path: req.path,
  params: req.param(),
  queries: () => req.queries(),
  get raw() {
    return req.raw;
  },
});

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
  let request: Request | undefined;
  const url = () => `http://${incoming.headers.host}${incoming.url}`;
  for (const name in params) if (params[name]!.includes("%")) params[name] = tryDecodeURIComponent(params[name]!);
  return {
    incoming,
    outgoing,
    path,
    params,
    queries: () => getQueryParams(url()) as Record<string, string[]>,
    get raw() {
      return (request ??= new Request(url(), { headers: headersOf(incoming), signal: signalOf(outgoing) }));
    },
  };
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
