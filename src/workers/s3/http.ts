import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { FailureWindows } from "../../kernel/failure-windows.ts";
import { decodeQuery } from "../../protocol/aws-sigv4/index.ts";
import { isStoreError } from "../../store/index.ts";
import { r2Errors, type R2Bucket } from "../bindings/r2/index.ts";
import { makeInert } from "../runtime/response-headers.ts";
import { corsHeaders, preflightHeaders } from "../bucket-settings/index.ts";
import { parseS3Address, parseS3Host, type S3Address, type S3Endpoints } from "./address.ts";
import { createS3Authenticator, type FindS3Key } from "./authenticate.ts";
import { createXmlBodyMemory, type BodyMemoryLimits } from "./body-memory.ts";
import { resolveBucket, type S3Response, type S3RequestContext, type S3Deps } from "./request-context.ts";
import { s3ErrorOf, s3Errors } from "./errors.ts";
import { operationOf } from "./operations/index.ts";
import { collectBody, s3Body } from "./payload.ts";
import { errorDocument } from "./xml.ts";

interface S3HttpHandlerOptions extends S3Deps {
  findKey: FindS3Key;
  endpoints: S3Endpoints;
  /** Returns the IP address of the client. A token can be restricted to certain addresses. */
  clientIp(request: IncomingMessage): string | undefined;
  /**
   * True to reject write requests from web pages that no CORS rule allows, even if they are signed: in development,
   * every page knows the key. Default false.
   */
  pagesNeedCors?: boolean;
  /** Failed authentication attempts. Default: no limit. */
  failures?: FailureWindows;
  /** Memory for XML bodies. Default: 32 MiB, at most 16 MiB of them for one account. */
  bodyMemory?: BodyMemoryLimits;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
}

interface S3HttpHandler {
  /** True if all requests to this host name (lower case, without a port) belong to the S3 API. */
  hasHost(host: string): boolean;
  /** Handles a request to one of these hosts, or with the path prefix of the endpoints. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Creates the S3 API of R2 buckets. */
export function createS3HttpHandler({
  findKey,
  endpoints,
  clientIp,
  pagesNeedCors = false,
  failures,
  bodyMemory,
  ids,
  log,
  ...deps
}: S3HttpHandlerOptions): S3HttpHandler {
  const authenticate = createS3Authenticator({ findKey, clock: deps.clock, failures });
  const memory = createXmlBodyMemory(bodyMemory);

  async function respond(request: IncomingMessage, address: S3Address, target: RequestTarget): Promise<S3Response> {
    const method = request.method!;
    const { path, headers, query: queryText } = target;
    let queryPairs: [string, string][];
    try {
      queryPairs = decodeQuery(queryText);
    } catch (err) {
      throw s3Errors.invalidUri({}, { cause: err });
    }
    const ip = clientIp(request);
    const { accessKeyId, key, payload } = await authenticate({ method, path, query: queryPairs, headers, ip });
    const query = new Map(queryPairs);
    const fetchHeaders = new Headers(Object.entries(headers));
    const operation = operationOf(method, address, query, fetchHeaders);
    const { account = "" } = address;

    /** True if the key has the permission for the objects of the bucket or, without a bucket, for the account. */
    const isAllowed = (
      accessKey: typeof key,
      access: "Read" | "Write",
      targetBucket?: Pick<R2Bucket, "name" | "jurisdiction">,
    ) =>
      targetBucket === undefined
        ? accessKey.allows(`Workers R2 Storage ${access}`, { account })
        : accessKey.allows(`Workers R2 Storage Bucket Item ${access}`, {
            account,
            bucket: targetBucket.name,
            jurisdiction: targetBucket.jurisdiction,
          });
    const require = (...[accessKey, access, targetBucket]: Parameters<typeof isAllowed>) => {
      if (!isAllowed(accessKey, access, targetBucket))
        throw s3Errors.accessDenied({ why: `the token needs the permission Workers R2 Storage ${access}` });
    };
    const name = address.bucket;
    const bucket = name === undefined ? undefined : await resolveBucket({ account, address }, deps, name);
    const requireAll = (accessKey: typeof key) => {
      if (name === undefined) return;
      // A key that is limited to some buckets must not reveal which other buckets exist.
      if (operation.scope === "buckets" || bucket === undefined) require(accessKey, operation.access);
      // A policy can deny access to the objects of a bucket, so it also applies to the bucket's settings, which can
      // delete and publish the objects.
      if (bucket !== undefined) require(accessKey, operation.access, bucket);
    };
    requireAll(key);
    // The token may be revoked while a slow body is still arriving.
    const isComplete = request.complete;
    const confirm = async () => {
      if (isComplete) return;
      const currentKey = await findKey(accessKeyId, ip);
      if (currentKey === undefined) throw s3Errors.unauthorized({ why: "the API token was revoked during the upload" });
      requireAll(currentKey);
    };
    const lease = memory.open(account);
    const body = () => s3Body(request, headers, payload, confirm);
    const context: S3RequestContext = {
      method,
      address,
      account,
      query,
      headers: fetchHeaders,
      resource: path,
      body,
      collectBody: (maxBytes) => collectBody(body(), maxBytes, lease),
      requirePermission: (access, targetBucket) => require(key, access, targetBucket),
      hasPermission: (access, targetBucket) => isAllowed(key, access, targetBucket),
    };
    try {
      if ("run" in operation) return await operation.run(context, deps);
      if (bucket === undefined) throw r2Errors.noSuchBucket();
      return await operation.inBucket(context, deps, bucket);
    } finally {
      lease.release();
    }
  }

  /** True if the endpoint is a path on a host that also serves other content. */
  const sharesOrigin = ({ host }: RequestTarget) => parseS3Host(host, endpoints.domain) === undefined;

  /** Resolves with the CORS policy of the bucket. Undefined if the address has no bucket, or the bucket no policy. */
  async function corsPolicyOf({ account = "", bucket, jurisdiction }: S3Address) {
    if (bucket === undefined) return undefined;
    const s3Bucket = await resolveBucket(
      { account, address: { account, bucket, jurisdiction, key: undefined } },
      deps,
      bucket,
    );
    return s3Bucket && (await deps.settings.get(s3Bucket.id)).cors;
  }

  async function preflight(address: S3Address, headers: RequestTarget["headers"]): Promise<S3Response> {
    const allowedHeaders = preflightHeaders((await corsPolicyOf(address)) ?? [], {
      origin: headers.origin,
      method: headers["access-control-request-method"],
      headers: headers["access-control-request-headers"],
    });
    if (allowedHeaders === undefined) throw s3Errors.corsForbidden();
    return { status: 204, headers: allowedHeaders };
  }

  async function responseTo(request: IncomingMessage, target: RequestTarget, requestId: string): Promise<S3Response> {
    const { path, headers } = target;
    let cors: Record<string, string> = {};
    try {
      const address = parseS3Address(target.host, path, endpoints);
      // A service worker would persist in the browser and intercept requests to the API.
      if (sharesOrigin(target) && headers["service-worker"] !== undefined)
        throw s3Errors.accessDenied({ why: "service workers are not available on this host" });
      if (request.method === "OPTIONS") return await preflight(address, headers);
      if (headers.origin !== undefined)
        cors = corsHeaders(await corsPolicyOf(address), { origin: headers.origin, method: request.method! });
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (pagesNeedCors && headers.origin !== undefined && !isRead && !("access-control-allow-origin" in cors))
        throw s3Errors.corsForbidden();
      return withHeaders(await respond(request, address, target), cors);
    } catch (err) {
      if (request.socket.destroyed) throw err;
      const s3Error = s3ErrorOf(err) ?? internalError(err, requestId);
      return withHeaders(
        {
          status: s3Error.status,
          body: errorDocument([
            ["Code", s3Error.code],
            ["Message", s3Error.message],
            ["Resource", path],
            ["RequestId", requestId],
          ]),
        },
        cors,
      );
    }
  }

  function internalError(err: unknown, request: string) {
    log.error({ err, request }, "s3: request failed");
    const isBusy = isStoreError(err) && [503, 507].includes(err.entry.http);
    return s3ErrorOf(isBusy ? s3Errors.unavailable() : s3Errors.internal())!;
  }

  return {
    hasHost: (host) => parseS3Host(host, endpoints.domain) !== undefined,
    async handle(request, response) {
      const requestId = ids.hex();
      try {
        const target = requestTargetOf(request);
        const { status, headers, body } = await responseTo(request, target, requestId);
        const responseHeaders = new Headers(headers);
        if (sharesOrigin(target)) makeInert(responseHeaders);
        responseHeaders.set("x-amz-request-id", requestId);
        if (typeof body === "string") {
          responseHeaders.set("content-type", "application/xml");
          responseHeaders.set("content-length", String(Buffer.byteLength(body)));
        } else if (body === undefined && !responseHeaders.has("content-length") && status !== 204 && status !== 304) {
          responseHeaders.set("content-length", "0");
        }
        response.writeHead(status, Object.fromEntries(responseHeaders));
        if (typeof body === "object") await pipeline(body, response);
        else response.end(request.method === "HEAD" ? undefined : body);
      } catch (err) {
        // The client has disconnected, or the body failed after its start.
        if (!request.socket.destroyed) log.warn({ err, request: requestId }, "s3: failed to send a response");
        response.destroy();
      } finally {
        // An abandoned iterator leaves its listener behind, which would stop the rest of the body from flowing.
        if (!request.readableEnded) request.removeAllListeners("readable");
      }
    },
  };
}

/** The signed parts of a request, except its method and body. */
interface RequestTarget {
  /** Lower-case host name without the port. */
  host: string;
  path: string;
  query: string;
  headers: Record<string, string>;
}

function requestTargetOf({ url = "/", rawHeaders }: IncomingMessage): RequestTarget {
  const end = url.indexOf("?");
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const value = rawHeaders[i + 1]!;
    // Node would join some repeated headers differently.
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]},${value}` : value;
  }
  return {
    host: (headers.host ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, ""),
    path: end < 0 ? url : url.slice(0, end),
    query: end < 0 ? "" : url.slice(end + 1),
    headers,
  };
}

function withHeaders(response: S3Response, extraHeaders: Record<string, string>): S3Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(extraHeaders)) headers.set(name, value);
  return { ...response, headers };
}
