import type { z } from "@hono/zod-openapi";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Permission } from "../accounts/index.ts";
import type { Log, Page, PageRequest, UserError } from "../kernel/index.ts";

/** One operation of the v4 API, declared once: it is matched, authorised, checked and documented by this. */
export interface Operation<
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
> {
  /** The operationId of the published API, or a name of our own. Unique. */
  id: string;
  method: "get" | "post" | "put" | "patch" | "delete";
  /** Below /client/v4. `{name}` is one segment; `{name+}`, as the last one, takes the rest with its slashes. */
  path: string;
  tag: string;
  summary: string;
  /**
   * Permission that the token needs on the account or zone of the path, or on the user if the path has neither.
   * Null: any valid token; the handler filters what it may see.
   */
  permission: Permission | null;
  /** Error for unauthenticated requests, if clients expect another one than the usual. */
  refusal?: () => UserError;
  /** Maps errors of operations that publish their own errors. `details.result` replaces the null result. */
  translate?: (error: UserError) => UserError;
  query?: Query;
  /** JSON body, whatever its content type. Absent: the handler reads the body. */
  body?: Body;
  /** Treats an absent body as `{}`. */
  bodyOptional?: boolean;
  /** Maximum number of octets that `json()`, `bytes()` and `form()` read. Default 1 MiB. */
  maxBytes?: number;
  /** Maximum number of values in a JSON body: numbers, strings, lists, field names. Default 100,000. */
  maxValues?: number;
  /**
   * For reads with the same answer for every caller: a number that changes with the underlying data. While it stays
   * equal, repeated reads are answered from memory. Undefined: call the handler.
   */
  version?(params: Record<string, string>): number | undefined;
  /** Schema of `result` in the envelope. */
  result?: Result;
  /** Content type of a response without an envelope. */
  raw?: string;
  /** Status of the response. Default 200. */
  status?: number;
  /** Response headers for OPTIONS at this path, in addition to the CORS headers. */
  options?: Record<string, string>;
}

/** A validated request to an operation. */
export interface Call<Query = unknown, Body = unknown> {
  /** Decoded, and without the "+" in their names. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  /** The request id in the log and in the response. */
  id: string;
  log: Log;
  request: Request;
  /** The body's bytes. Throws bodyTooLarge beyond maxBytes. */
  bytes(): Promise<Uint8Array>;
  /** The body as multipart/form-data. Throws badMultipart, bodyTooLarge. */
  form(): Promise<FormData>;
  /**
   * Throws notAuthenticated or notAllowed if the token lost its permission since the request began. Call it between
   * reading a body and storing it; `bytes()`, `form()` and declared bodies already do. Free for short requests.
   */
  confirm(): Promise<void>;
  /** Node's request and response, for large bodies and responses. */
  node: { incoming: IncomingMessage; outgoing: ServerResponse };
}

/** The content of a success envelope. */
export interface Answer<Result = unknown> {
  result: Result;
  info?: ResultInfo;
  messages?: { code: number; message: string }[];
  /** Fields beside `result` that the contract defines. */
  beside?: Record<string, unknown>;
  status?: number;
}

export interface ResultInfo {
  page?: number;
  per_page?: number;
  count?: number;
  total_count?: number;
  total_pages?: number;
  cursor?: string;
  [more: string]: unknown;
}

export interface Route {
  operation: Operation;
  handle(call: Call): Promise<Answer | Response>;
}

/**
 * Binds an operation to the domain function that implements it. A handler returns the content of the envelope, or a
 * Response without envelope.
 */
export const route = <Query extends z.ZodType, Body extends z.ZodType, Result extends z.ZodType>(
  operation: Operation<Query, Body, Result>,
  handle: (call: Call<z.output<Query>, z.output<Body>>) => Promise<Answer<z.input<Result>> | Response>,
): Route => ({ operation: operation as Operation, handle: handle as Route["handle"] });

export const answer = <Result>(result: Result, more: Omit<Answer, "result"> = {}): Answer<Result> => ({
  result,
  ...more,
});

/** A numbered page with its `result_info`. */
export const pageAnswer = <Item, Shown>(
  { items, total }: Page<Item>,
  { page, perPage }: PageRequest,
  show: (item: Item) => Shown,
): Answer<Shown[]> => ({
  result: items.map(show),
  info: { page, per_page: perPage, count: items.length, total_count: total, total_pages: Math.ceil(total / perPage) },
});
