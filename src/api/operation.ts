import type { z } from "@hono/zod-openapi";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Permission } from "../accounts/index.ts";
import type { Log, Page, PageRequest, UserError } from "../kernel/index.ts";

/**
 * One operation of the v4 API, declared once: routing, authorization, validation and documentation all use this
 * declaration.
 */
export interface Operation<
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
> {
  /** The operationId of the published API, or our own name for an extension. Unique. */
  id: string;
  method: "get" | "post" | "put" | "patch" | "delete";
  /**
   * Relative to /client/v4. `{name}` matches one segment; `{name+}`, allowed only as the last one, matches the rest
   * including slashes.
   */
  path: string;
  tag: string;
  summary: string;
  /**
   * Permission that the token needs on the account or zone of the path, or on the user if the path has neither.
   * Null: any valid token; the handler filters what it may see.
   */
  permission: Permission | null;
  /** Authenticates with a secret other than an API token. Returns undefined if the secret is invalid. */
  authenticate?(secret: string): Caller | undefined;
  /** Error for unauthenticated requests, if clients expect a different one. */
  authenticationError?: () => UserError;
  /** Maps errors of operations that publish their own error codes. `details.result` replaces the null result. */
  translate?: (error: UserError) => UserError;
  query?: Query;
  /** JSON body, regardless of its content type. If absent, the handler reads the body. */
  body?: Body;
  /** Treats an absent body as `{}`. */
  bodyOptional?: boolean;
  /** Maximum number of bytes that `json()`, `bytes()` and `form()` read. Default 1 MiB. */
  maxBytes?: number;
  /** Maximum number of values in a JSON body: numbers, strings, lists, field names. Default 100,000. */
  maxValues?: number;
  /**
   * For reads that return the same result to every caller: a number that changes with the underlying data. While it is
   * unchanged, repeated reads are answered from memory. If it returns undefined, the handler is called.
   */
  version?(params: Record<string, string>): number | undefined;
  /** Schema of `result` in the envelope. */
  result?: Result;
  /**
   * The server's operator may choose the id of the new resource with the Reelpost-Id header, in this format. The
   * handler reads it with `ChosenIds.of`.
   */
  chosenId?: "hex" | "uuid";
  /** Content type if the response has no envelope. */
  raw?: string;
  /** Status of the response. Default 200. */
  status?: number;
  /**
   * How a completed change is recorded in the audit log. False: not recorded, for operations on data (values, objects,
   * messages) and for those that change nothing. Reads are never recorded.
   */
  audit?: false | AuditDeclaration;
  /** Response headers for OPTIONS at this path, in addition to the CORS headers. */
  options?: Record<string, string>;
}

interface AuditDeclaration {
  /** False if the value before the change is not read with the GET operation of the same path. */
  before?: false;
  /**
   * Returns the account of the change, if the path does not contain it. Undefined if the change belongs to the user.
   */
  account?(values: { before: unknown; after: unknown }): string | undefined;
}

/** A validated request to an operation. */
export interface Call<Query = unknown, Body = unknown> {
  /** Decoded parameters; their names do not include the "+". */
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  /** The request id used in the log and in the response. */
  id: string;
  log: Log;
  request: Request;
  /** Reads the body as bytes. Throws bodyTooLarge above maxBytes. */
  bytes(): Promise<Uint8Array>;
  /** Reads the body as multipart/form-data. Throws badMultipart, bodyTooLarge. */
  form(): Promise<FormData>;
  /**
   * Throws notAuthenticated or notAllowed if the token has lost its permission since the request began. Call it between
   * reading a body and storing it; `bytes()`, `form()` and declared bodies do so automatically. Costs nothing for short
   * requests. Resolves with the caller as it is now.
   */
  confirm(): Promise<Caller>;
  /** Node's request and response, for large bodies and responses. */
  node: { incoming: IncomingMessage; outgoing: ServerResponse };
}

/** The content of a success envelope. */
export interface OperationResponse<Result = unknown> {
  result: Result;
  info?: ResultInfo;
  messages?: { code: number; message: string }[];
  /** Fields alongside `result` that the API contract defines. */
  extraFields?: Record<string, unknown>;
  status?: number;
}

interface ResultInfo {
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
  handle(call: Call): Promise<OperationResponse | Response>;
}

/**
 * Binds an operation to the domain function that implements it. A handler returns the content of the envelope, or a
 * Response without an envelope.
 */
export const route = <Query extends z.ZodType, Body extends z.ZodType, Result extends z.ZodType>(
  operation: Operation<Query, Body, Result>,
  handle: (call: Call<z.output<Query>, z.output<Body>>) => Promise<OperationResponse<z.input<Result>> | Response>,
): Route => ({ operation: operation as Operation, handle: handle as Route["handle"] });

export const respond = <Result>(
  result: Result,
  more: Omit<OperationResponse, "result"> = {},
): OperationResponse<Result> => ({
  result,
  ...more,
});

/** A numbered page with its `result_info`. */
export const respondWithPage = <Item, Shown>(
  { items, total }: Page<Item>,
  { page, perPage }: PageRequest,
  show: (item: Item) => Shown,
): OperationResponse<Shown[]> => ({
  result: items.map(show),
  info: { page, per_page: perPage, count: items.length, total_count: total, total_pages: Math.ceil(total / perPage) },
});
