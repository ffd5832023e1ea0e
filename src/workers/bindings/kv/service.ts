import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { silentLog, systemClock, UserError } from "../../../kernel/index.ts";
import type { Binding } from "../../scripts/script.ts";
import { drain, readBody } from "../body.ts";
import type { BindingService } from "../service.ts";
import { createKvBulk, type KvBulk } from "./bulk.ts";
import { checkCacheTtl, checkLimit, checkKeyMetadata, expiryOf, keyBytes } from "./checks.ts";
import { kvErrors } from "./errors.ts";
import { createKvStore, type KvStore, type KvStoreOptions } from "./kv-store.ts";
import { INLINE_BYTES, kvLimits } from "./limits.ts";
import { createKvNamespaces, type KvNamespaces, type KvNamespacesOptions } from "./namespaces.ts";

export interface KvService extends BindingService<Extract<Binding, { type: "kv_namespace" }>> {
  /** The store, for other callers. */
  readonly store: KvStore;
  /**
   * The namespaces of accounts. A worker of an account can access only those listed there; a worker without one
   * (`reelpost dev`) needs no list.
   */
  readonly namespaces: KvNamespaces;
  readonly bulk: KvBulk;
}

/** Keys of 512 bytes, each byte escaped as six characters in JSON, plus the surrounding JSON. */
const MAX_BULK_REQUEST_BYTES = 1024 * 1024;
/** Maximum bytes of a rejected value that are drained. */
const MAX_DRAIN_BYTES = 1024 ** 3;

/**
 * Creates the KV binding in workerd's protocol (src/workerd/api/kv.c++): the key is the path, options are the query,
 * metadata is a header.
 */
export function createKvService(options: KvStoreOptions & Pick<KvNamespacesOptions, "maxNamespaces">): KvService {
  const store = createKvStore(options);
  const namespaces = createKvNamespaces({ ...options, store });
  const { clock = systemClock, log = silentLog } = options;

  async function answer(request: IncomingMessage, response: ServerResponse, namespace: string): Promise<void> {
    const { key, query } = parseTarget(request.url!);
    switch (request.method) {
      case "GET":
        return key === undefined ? list(response, namespace, query) : get(response, namespace, key, query);
      case "PUT":
        return put(request, response, namespace, key, query);
      case "DELETE":
        await store.delete(namespace, key ?? "");
        return void response.writeHead(200, NO_BODY).end();
      case "POST":
        if (request.url!.startsWith("/bulk/get")) return bulkGet(request, response, namespace);
    }
    throw kvErrors.noEndpoint();
  }

  async function get(response: ServerResponse, namespace: string, key: string, query: URLSearchParams) {
    checkCacheTtl(query.get("cache_ttl"));
    const entry = await store.get(namespace, key);
    if (!entry) return void response.writeHead(404, "Not Found", NO_BODY).end();
    const headers: Record<string, string | number> = { "content-length": entry.size };
    if (entry.metadata !== undefined) headers["cf-kv-metadata"] = toHeader(entry.metadata);
    if (entry.expiration !== undefined) headers["cf-expiration"] = entry.expiration;
    response.writeHead(200, headers);
    if (entry.value instanceof Uint8Array) return void response.end(entry.value);
    // A failure from here on ends the response before its Content-Length, so the client sees it as a failure.
    pipeline(entry.value, response, (err) => {
      if (err && !response.destroyed) log.error({ err, namespace }, "kv: failed to read a value completely");
    });
  }

  async function put(
    request: IncomingMessage,
    response: ServerResponse,
    namespace: string,
    key: string | undefined,
    query: URLSearchParams,
  ) {
    keyBytes(key ?? "");
    const metadata = fromHeader(request.headers["cf-kv-metadata"]);
    if (metadata !== undefined) checkKeyMetadata(metadata);
    const expiresAt = expiryOf({ expiration: query.get("expiration"), ttl: query.get("expiration_ttl") }, clock.now());
    const length = Number(request.headers["content-length"] ?? Number.NaN);
    if (length > kvLimits.valueBytes) throw kvErrors.valueTooLong({ length, limit: kvLimits.valueBytes });
    const value = length <= INLINE_BYTES ? (await readBody(request, INLINE_BYTES))! : await readStart(request);
    await store.put(namespace, key!, value, { metadata, expiresAt });
    response.writeHead(200, NO_BODY).end();
  }

  async function list(response: ServerResponse, namespace: string, query: URLSearchParams) {
    const limit = checkLimit(query.get("key_count_limit"));
    const { keys, cursor } = await store.list(namespace, {
      limit,
      prefix: query.get("prefix") ?? undefined,
      cursor: query.get("cursor") ?? undefined,
    });
    // workerd expects metadata as a JSON string here and parses it again.
    sendJson(response, JSON.stringify({ keys, list_complete: cursor === undefined, cursor, cacheStatus: null }));
  }

  async function bulkGet(request: IncomingMessage, response: ServerResponse, namespace: string) {
    const { keys, type = "text", withMetadata, cacheTtl } = parseBulk(await readBody(request, MAX_BULK_REQUEST_BYTES));
    if (type !== "text" && type !== "json") throw kvErrors.badBulkType({ type });
    if (keys.length === 0) throw kvErrors.noBulkKeys();
    checkCacheTtl(cacheTtl);
    const foundValues = await store.getMany(namespace, keys);
    const parts = [...new Set(keys)].map((key) => {
      const entry = foundValues.get(key);
      if (!entry) return `${JSON.stringify(key)}:null`;
      const text = entry.value.toString();
      const value = type === "json" ? toJson(text) : JSON.stringify(text);
      return `${JSON.stringify(key)}:${withMetadata ? `{"value":${value},"metadata":${entry.metadata ?? "null"}}` : value}`;
    });
    sendJson(response, `{${parts.join(",")}}`);
  }

  return {
    store,
    namespaces,
    bulk: createKvBulk({ store, clock, log }),
    async handle(request, response, { script, binding }) {
      try {
        if (script.account !== undefined && !(await namespaces.isLive(script.account, binding.namespace_id)))
          throw kvErrors.namespaceGone();
        await answer(request, response, binding.namespace_id);
      } catch (error) {
        if (response.headersSent) return void response.destroy();
        // The worker was stopped while its request was running.
        if (request.socket.destroyed) return;
        const isKvError = error instanceof UserError && error.domain === "kv";
        if (!isKvError) log.error({ err: error, script: script.name, binding: binding.name }, "kv: request failed");
        await drain(request, MAX_DRAIN_BYTES);
        // workerd shows the worker only the status line.
        const status = error instanceof UserError ? error.entry.http : 500;
        response.writeHead(status, isKvError ? error.message : undefined, NO_BODY).end();
      }
    },
  };
}

const NO_BODY = { "content-length": 0 };
const NO_QUERY = new URLSearchParams();

/**
 * Parses `/key?urlencoded=true`, where an empty key stands for the namespace itself. Not parsed as a URL: that would
 * resolve `/%2e%2e` as a parent path.
 */
function parseTarget(target: string): { key: string | undefined; query: URLSearchParams } {
  const queryStart = target.indexOf("?");
  const path = queryStart < 0 ? target : target.slice(0, queryStart);
  const rest = queryStart < 0 ? "" : target.slice(queryStart + 1);
  // The query of almost every request.
  const query = rest === "" || rest === "urlencoded=true" ? NO_QUERY : new URLSearchParams(rest);
  if (path === "/" || path === "") return { key: undefined, query };
  const encoded = path.slice(1);
  if (query !== NO_QUERY ? query.get("urlencoded")?.toLowerCase() !== "true" : rest === "")
    return { key: encoded, query };
  try {
    return { key: decodeURIComponent(encoded), query };
  } catch {
    throw kvErrors.undecodableKey();
  }
}

/** Reads until the value is known to be large; a small value is returned whole. */
async function readStart(request: IncomingMessage): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const iterator = (request as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const start: Buffer[] = [];
  let length = 0;
  while (length <= INLINE_BYTES) {
    const { done, value } = await iterator.next();
    if (done) return Buffer.concat(start);
    start.push(value);
    length += value.length;
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next: async (): Promise<IteratorResult<Uint8Array>> =>
        start.length > 0 ? { done: false, value: start.shift()! } : iterator.next(),
    }),
  };
}

interface BulkRequest {
  keys: string[];
  type?: string;
  withMetadata?: boolean;
  cacheTtl?: string;
}

function parseBulk(body: Buffer | undefined): BulkRequest {
  try {
    const parsed = JSON.parse(body!.toString()) as BulkRequest;
    if (Array.isArray(parsed.keys) && parsed.keys.every((key) => typeof key === "string")) return parsed;
  } catch {
    // Invalid JSON: reported below.
  }
  throw kvErrors.badBulkRequest();
}

function toJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw kvErrors.notJson();
  }
}

// Node reads and writes headers as Latin-1; workerd's are UTF-8. JSON leaves DEL unescaped, which Node rejects, and may
// contain line breaks between its values, where a space is equivalent.
const fromHeader = (value: string | string[] | undefined) =>
  value === undefined ? undefined : Buffer.from(String(value), "latin1").toString("utf8");
const toHeader = (json: string) =>
  Buffer.from(json.replaceAll("\u007f", "\\u007f").replaceAll(/[\r\n]/g, " ")).toString("latin1");

function sendJson(response: ServerResponse, json: string) {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(json) }).end(json);
}
