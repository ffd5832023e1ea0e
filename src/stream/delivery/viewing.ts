import type { IncomingMessage, ServerResponse } from "node:http";
import { matchesEtag, readRange } from "../../protocol/http/index.ts";
import type { Video } from "../videos/index.ts";
import { cacheControl } from "./cache-control.ts";
import { createBufferPool, type BufferPool } from "./memory.ts";
import type { Viewer } from "../access/index.ts";
import type { DeliveryContext } from "./route.ts";
import { sendBytes, sendGrowingBytes, type Sendable } from "./send-bytes.ts";
import { type Exchange, sendTextResponse } from "./send-text.ts";

interface ViewingDeps {
  video: Video;
  id: string;
  base: string;
  origin: string;
  params: Record<string, string>;
  query: string;
  viewer: Viewer;
  request: IncomingMessage;
  response: ServerResponse;
  memory: BufferPool;
}

/** 256 KiB stays in the processor cache between read and write, and most segments need only one thread pool call. */
export const createDeliveryMemory = (): BufferPool => createBufferPool({ size: 256 * 1024, maxIdle: 64 });

/**
 * Context of a single request. Rarely used fields are computed lazily: thousands of segments are served per second.
 *
 * The accessors are on the prototype. V8 stores those of an object literal in its old generation, again for each object,
 * where they keep the whole request until the next full garbage collection.
 */
class Viewing implements DeliveryContext {
  readonly #deps: ViewingDeps;
  #query: URLSearchParams | undefined;
  #signal: AbortSignal | undefined;
  readonly video: Video;
  readonly id: string;
  readonly base: string;
  readonly origin: string;
  readonly params: Record<string, string>;
  readonly viewer: Viewer;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly acceptsGrowing: boolean;

  constructor(deps: ViewingDeps) {
    this.#deps = deps;
    this.video = deps.video;
    this.id = deps.id;
    this.base = deps.base;
    this.origin = deps.origin;
    this.params = deps.params;
    this.viewer = deps.viewer;
    this.request = deps.request;
    this.response = deps.response;
    this.acceptsGrowing = acceptsGrowing(deps.request);
  }

  get query() {
    return (this.#query ??= new URLSearchParams(this.#deps.query));
  }

  get signal() {
    return (this.#signal ??= signalOf(this.response));
  }

  sendObject: DeliveryContext["sendObject"] = (object, metadata) => sendObject(this.#deps, object, metadata);

  sendGrowing: DeliveryContext["sendGrowing"] = (body, metadata) => sendGrowing(this, body, metadata);

  sendText: DeliveryContext["sendText"] = (text, metadata) => sendTextResponse(this, text, metadata);
}

export const createDeliveryContext = (deps: ViewingDeps): DeliveryContext => new Viewing(deps);

async function sendObject(
  exchange: Exchange & { memory: BufferPool },
  object: Sendable,
  metadata: Parameters<DeliveryContext["sendObject"]>[1],
): Promise<void> {
  const { request, response } = exchange;
  const { size, version } = object;
  const headers: Record<string, string | number> = {
    "content-type": metadata.type,
    "cache-control": cacheControl(exchange, metadata.cache),
    "accept-ranges": "bytes",
  };
  const etag = version === undefined ? undefined : `"${version}"`;
  if (etag !== undefined) headers["etag"] = etag;
  if (metadata.filename !== undefined)
    headers["content-disposition"] = `attachment; filename="${metadata.filename.replace(/[^\x20-\x7e]|["\\%]/g, "_")}"`;
  if (etag !== undefined && matchesEtag(request.headers["if-none-match"], etag))
    return void response.writeHead(304, headers).end();

  // RFC 9110 13.1.5: a range of a different representation is useless.
  const ifRange = request.headers["if-range"];
  const range =
    request.method === "GET" && (ifRange === undefined || ifRange === etag)
      ? readRange(request.headers.range, size)
      : undefined;
  if (range === "unsatisfiable")
    return void response.writeHead(416, { "content-range": `bytes */${size}`, "cache-control": "no-store" }).end();
  headers["content-length"] = range === undefined ? size : range.end - range.start + 1;
  if (range !== undefined) headers["content-range"] = `bytes ${range.start}-${range.end}/${size}`;
  response.writeHead(range === undefined ? 200 : 206, headers);
  if (request.method === "HEAD" || size === 0) return void response.end();
  await sendBytes(response, object, range ?? { start: 0, end: size - 1 }, exchange.memory);
}

const acceptsGrowing = ({ method, httpVersionMajor, httpVersionMinor, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  // HTTP/1.0 marks the end of such a response only by closing the connection.
  (httpVersionMajor > 1 || httpVersionMinor >= 1) &&
  headers.range === undefined &&
  headers["if-none-match"] === undefined;

async function sendGrowing(
  exchange: Exchange,
  body: AsyncIterable<Buffer>,
  metadata: Parameters<DeliveryContext["sendGrowing"]>[1],
): Promise<void> {
  exchange.response.writeHead(200, {
    "content-type": metadata.type,
    "cache-control": cacheControl(exchange, metadata.cache),
    "accept-ranges": "bytes",
  });
  await sendGrowingBytes(exchange.response, body);
}

function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}
