import { endSession, sessionSecret } from "../session/session.ts";
import { ApiError, errorOfResponse, toApiError } from "./errors.ts";
import type { Operations } from "./schema.d.ts";

/** The typed client of the v4 API: paths, parameters and results come from the OpenAPI document. */

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Path<M extends Method> = keyof Operations extends infer K ? (K extends `${M} ${infer P}` ? P : never) : never;
type Operation<M extends Method, P extends string> = `${M} ${P}` extends keyof Operations
  ? Operations[`${M} ${P}`]
  : never;

/** `path`: values for the placeholders; `body`: JSON, or a FormData, Blob or string that is sent unchanged. */
type Options<O extends { path: object; query: object; body: unknown }> = (keyof O["path"] extends never
  ? { path?: never }
  : { path: O["path"] }) & {
  query?: O["query"];
  headers?: Record<string, string>;
  signal?: AbortSignal;
} & (O["body"] extends undefined ? { body?: BodyInit | object } : { body: O["body"] | BodyInit });
type Args<O extends { path: object; query: object; body: unknown }> =
  Record<never, never> extends Options<O> ? [options?: Options<O>] : [options: Options<O>];

interface ResultInfo {
  page?: number;
  per_page?: number;
  count?: number;
  total_count?: number;
  total_pages?: number;
  cursor?: string;
}

export interface ListResult<Item> {
  items: Item[];
  info: ResultInfo;
}

interface Envelope {
  result: unknown;
  result_info?: ResultInfo;
}

interface RequestOptions {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export type ResultOf<M extends Method, P extends Path<M>> = Operation<M, P>["result"];

const API_BASE = "/client/v4";

/**
 * Calls an operation and returns its result. All functions throw ApiError; a rejected session ends, and the sign-in
 * page opens.
 */
export const api = {
  get: <P extends Path<"GET">>(path: P, ...[options]: Args<Operation<"GET", P>>): Promise<ResultOf<"GET", P>> =>
    call("GET", path, options as RequestOptions) as Promise<ResultOf<"GET", P>>,
  post: <P extends Path<"POST">>(path: P, ...[options]: Args<Operation<"POST", P>>): Promise<ResultOf<"POST", P>> =>
    call("POST", path, options as RequestOptions) as Promise<ResultOf<"POST", P>>,
  put: <P extends Path<"PUT">>(path: P, ...[options]: Args<Operation<"PUT", P>>): Promise<ResultOf<"PUT", P>> =>
    call("PUT", path, options as RequestOptions) as Promise<ResultOf<"PUT", P>>,
  patch: <P extends Path<"PATCH">>(path: P, ...[options]: Args<Operation<"PATCH", P>>): Promise<ResultOf<"PATCH", P>> =>
    call("PATCH", path, options as RequestOptions) as Promise<ResultOf<"PATCH", P>>,
  delete: <P extends Path<"DELETE">>(
    path: P,
    ...[options]: Args<Operation<"DELETE", P>>
  ): Promise<ResultOf<"DELETE", P>> =>
    call("DELETE", path, options as RequestOptions) as Promise<ResultOf<"DELETE", P>>,
  /** A list with its `result_info`. */
  async list<P extends Path<"GET">>(
    path: P,
    ...[options]: Args<Operation<"GET", P>>
  ): Promise<ListResult<ResultOf<"GET", P> extends (infer Item)[] ? Item : never>> {
    const { result, result_info: info = {} } = await envelopeOf("GET", path, options as RequestOptions);
    return { items: result as never[], info };
  },
  /** The response of an operation without an envelope: text, files and streams. */
  raw: (method: Method, path: string, options: RequestOptions = {}): Promise<Response> => send(method, path, options),
  /** An operation that the OpenAPI document lacks. */
  request: <Result>(method: Method, path: string, options: RequestOptions = {}): Promise<Result> =>
    call(method, path, options) as Promise<Result>,
};

/** Returns the URL of an operation on this origin: `apiUrl("/accounts/{account_id}/x", { account_id })`. */
export function apiUrl(
  path: string,
  params: Record<string, unknown> = {},
  query: Record<string, unknown> = {},
): string {
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item));
  }
  const text = search.toString();
  return `${API_BASE}${filledPath}${text === "" ? "" : `?${text}`}`;
}

/**
 * Returns the Authorization header, for code that calls XMLHttpRequest or fetch() itself, such as uploads with
 * progress.
 */
export function authorization(): Record<string, string> {
  const secret = sessionSecret();
  return secret === undefined ? {} : { authorization: `Bearer ${secret}` };
}

async function call(method: Method, path: string, options?: RequestOptions): Promise<unknown> {
  return (await envelopeOf(method, path, options)).result;
}

async function envelopeOf(method: Method, path: string, options?: RequestOptions): Promise<Envelope> {
  const response = await send(method, path, options);
  const text = await response.text();
  // Some operations respond with status 200 and no body, such as the deletion of a video.
  return text === "" ? { result: undefined } : (JSON.parse(text) as Envelope);
}

async function send(
  method: Method,
  path: string,
  { path: params, query, body, headers, signal }: RequestOptions = {},
): Promise<Response> {
  const isJson = body !== undefined && !isSentUnchanged(body);
  let response: Response;
  try {
    response = await fetch(apiUrl(path, params, query), {
      method,
      headers: { ...authorization(), ...(isJson && { "content-type": "application/json" }), ...headers },
      credentials: "omit",
      cache: "no-store",
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as BodyInit) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (thrown) {
    if (signal?.aborted === true) throw thrown;
    throw toApiError(thrown);
  }
  if (response.ok) return response;
  const error = await readError(response);
  if (error.status === 401) endSession("expired");
  throw error;
}

/** Reads the failure of a response of the API. */
export async function readError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const body: unknown = await response.json().catch(() => undefined);
  return errorOfResponse(response.status, body, requestId);
}

const isSentUnchanged = (body: unknown) =>
  typeof body === "string" ||
  body instanceof FormData ||
  body instanceof Blob ||
  body instanceof ArrayBuffer ||
  body instanceof URLSearchParams;
