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
   * What the token must allow on the account or zone of the path, or on the user where there is neither.
   * Null: any valid token; the handler sorts out what it may see.
   */
  permission: Permission | null;
  /** What is answered when nobody is behind the credentials, where clients look for another error than the usual one. */
  refusal?: () => UserError;
  /** What any error is answered as, for operations that are published with errors of their own. Of details, `result` stands in the place of null. */
  translate?: (error: UserError) => UserError;
  query?: Query;
  /** A JSON body, taken as JSON whatever its content type says. Absent: the body is the handler's own business. */
  body?: Body;
  /** An absent body is taken as `{}`. */
  bodyOptional?: boolean;
  /** Most octets of the body that `json()`, `bytes()` and `form()` take. Default 1 MiB. */
  maxBytes?: number;
  /** Most values in a JSON body: numbers, texts, lists, names of fields. Default 100,000. */
  maxValues?: number;
  /**
   * For reads whose answer is the same for every caller: a number that changes with whatever the answer is made of. Repeated reads are
   * answered from memory while it stays. Undefined: this time the handler is asked.
   */
  version?(params: Record<string, string>): number | undefined;
  /** Of `result` in the envelope; for the answers that have one. */
  result?: Result;
  /** Content type of an answer without an envelope. */
  raw?: string;
  /** Answers 200 unless this says otherwise. */
  status?: number;
  /** Response headers for OPTIONS at this path, in addition to the CORS headers. */
  options?: Record<string, string>;
}

/** One request to an operation, checked. */
export interface Call<Query = unknown, Body = unknown> {
  /** Decoded, and without the "+" in their names. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  /** Names this request in the log and in the answer. */
  id: string;
  log: Log;
  request: Request;
  /** The body's bytes. Throws bodyTooLarge beyond maxBytes. */
  bytes(): Promise<Uint8Array>;
  /** The body as multipart/form-data. Throws badMultipart, bodyTooLarge. */
  form(): Promise<FormData>;
  /**
   * Throws notAuthenticated or notAllowed when the token has lost meanwhile what let this request in. To be asked between the end of a body
   * and what is kept of it; `bytes()`, `form()` and a declared body have asked already. Costs nothing for a request that was quick.
   */
  confirm(): Promise<void>;
  /** Under Node, what the request came as: for big bodies and answers. */
  node: { incoming: IncomingMessage; outgoing: ServerResponse };
}

/** What the envelope of a success carries. */
export interface Answer<Result = unknown> {
  result: Result;
  info?: ResultInfo;
  messages?: { code: number; message: string }[];
  /** Fields beside `result`, where the contract has them. */
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

/** Ties an operation to the domain function that does it. A handler returns the envelope's content, or a whole Response where there is no envelope. */
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
