import type { z } from "@hono/zod-openapi";
import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError, type Ids, type Log } from "../kernel/index.ts";
import { DEFAULT_BODY_BYTES, parseJson } from "./body.ts";
import { invalidInput, success } from "./envelope.ts";
import { failureOf } from "./error-response.ts";
import { apiErrors } from "./errors.ts";

/** An endpoint outside the v4 API: POST with a JSON body; the response has the envelope of the API. */
interface JsonEndpoint<Body extends z.ZodType = z.ZodType> {
  body: Body;
  handle(body: z.output<Body>, request: IncomingMessage): Promise<unknown>;
}

/** Preserves the type of the body for `handle`. */
export const jsonEndpoint = <Body extends z.ZodType>(endpoint: JsonEndpoint<Body>): JsonEndpoint =>
  endpoint as unknown as JsonEndpoint;

interface JsonEndpointsOptions {
  /** By path. */
  endpoints: Readonly<Record<string, JsonEndpoint>>;
  ids: Ids;
  log: Log;
  /** Maximum size of a body in bytes. Default 1 MiB. */
  maxBytes?: number;
}

/**
 * Returns a handler for the endpoints. It resolves with false, without a response, if the path matches none of them.
 * Cookies are neither read nor set. A body must be declared as JSON: pages of other origins cannot send that without a
 * preflight request.
 */
export function createJsonEndpoints({
  endpoints,
  ids,
  log,
  maxBytes = DEFAULT_BODY_BYTES,
}: JsonEndpointsOptions): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  return async (request, response) => {
    const path = request.url!.split("?", 1)[0]!;
    if (!Object.hasOwn(endpoints, path)) return false;
    const id = ids.hex();
    const child = () => log.child({ request: id, endpoint: path });
    try {
      const result = await answer(endpoints[path]!, request);
      send(response, 200, id, success({ result }));
    } catch (thrown) {
      const { status, envelope, headers } = failureOf(thrown, id, child);
      send(response, status, id, envelope, headers);
    }
    return true;
  };

  async function answer({ body, handle }: JsonEndpoint, request: IncomingMessage): Promise<unknown> {
    if (request.method !== "POST") throw apiErrors.methodNotAllowed({ allowed: "POST", allow: "POST" });
    if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? ""))
      throw apiErrors.badRequest({ reason: "The content type must be application/json" });
    const parsed = body.safeParse(parseJson(await readBounded(request)) ?? {});
    if (!parsed.success) throw invalidInput(parsed.error, "body");
    return handle(parsed.data, request);
  }

  async function readBounded(request: IncomingMessage): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) throw apiErrors.bodyTooLarge({ limit: maxBytes });
        chunks.push(chunk);
      }
    } catch (cause) {
      throw cause instanceof UserError ? cause : apiErrors.brokeOff({}, { cause });
    }
    return Buffer.concat(chunks);
  }
}

function send(
  response: ServerResponse,
  status: number,
  id: string,
  envelope: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(envelope);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-request-id": id,
    ...headers,
  });
  response.end(text);
}
