import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import { decodeQuery } from "../../protocol/aws-sigv4/index.ts";
import { isStoreError } from "../../store/index.ts";
import { r2Errors, type R2Bucket } from "../bindings/r2/index.ts";
import { corsHeaders, preflightHeaders } from "../bucket-settings/index.ts";
import { s3Address, s3Host, type S3Address, type S3Endpoints } from "./address.ts";
import { createS3Authenticator, type FindS3Key } from "./authenticate.ts";
import { bucketOf, type S3Answer, type S3Call, type S3Deps } from "./call.ts";
import { s3ErrorOf, s3Errors } from "./errors.ts";
import { operationOf } from "./operations/index.ts";
import { s3Body } from "./payload.ts";
import { errorDocument } from "./xml.ts";

interface S3HttpOptions extends S3Deps {
  findKey: FindS3Key;
  endpoints: S3Endpoints;
  /** The client's address, which a token may be limited to. */
  clientIp(request: IncomingMessage): string | undefined;
  /**
   * Rejects changes by pages that no CORS rule allows, even if they are signed: in development every page knows the key.
   * Default false.
   */
  pagesNeedCors?: boolean;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
}

interface S3Http {
  /** True if requests to this lower-case host name, without a port, belong to the S3 API whatever their path. */
  hasHost(host: string): boolean;
  /** For requests to these hosts, or with the prefix of the endpoints. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** The S3 API of R2 buckets. */
export function createS3Http({
  findKey,
  endpoints,
  clientIp,
  pagesNeedCors = false,
  ids,
  log,
  ...deps
}: S3HttpOptions): S3Http {
  const authenticate = createS3Authenticator({ findKey, clock: deps.clock });

  async function respond(request: IncomingMessage, address: S3Address, target: Target): Promise<S3Answer> {
    const method = request.method!;
    const { path, headers, query: text } = target;
    let pairs: [string, string][];
    try {
      pairs = decodeQuery(text);
    } catch (err) {
      throw s3Errors.invalidUri({}, { cause: err });
    }
    const ip = clientIp(request);
    const { accessKeyId, key, payload } = await authenticate({ method, path, query: pairs, headers, ip });
    const query = new Map(pairs);
    const fetchHeaders = new Headers(Object.entries(headers));
    const operation = operationOf(method, address, query, fetchHeaders);
    const { account = "" } = address;

    /** The permission for the account, or for the objects of one bucket. */
    const allows = (allowed: typeof key, access: "Read" | "Write", of?: Pick<R2Bucket, "name" | "jurisdiction">) =>
      of === undefined
        ? allowed.allows(`Workers R2 Storage ${access}`, { account })
        : allowed.allows(`Workers R2 Storage Bucket Item ${access}`, {
            account,
            bucket: of.name,
            jurisdiction: of.jurisdiction,
          });
    const require = (...[allowed, access, of]: Parameters<typeof allows>) => {
      if (!allows(allowed, access, of))
        throw s3Errors.accessDenied({ why: `the token needs the permission Workers R2 Storage ${access}` });
    };
    const name = address.bucket;
    const bucket = name === undefined ? undefined : await bucketOf({ account, address }, deps, name);
    const scope = operation.of === "objects" ? bucket : undefined;
    // A key for some buckets only must not reveal which other ones exist.
    if (name !== undefined) require(key, operation.access, scope);
    // The token may be revoked while a slow body is still arriving.
    const whole = request.complete;
    const confirm = async () => {
      if (whole) return;
      const now = await findKey(accessKeyId, ip);
      if (now === undefined) throw s3Errors.unauthorized({ why: "the API token was revoked during the upload" });
      if (name !== undefined) require(now, operation.access, scope);
    };
    const call: S3Call = {
      method,
      address,
      account,
      query,
      headers: fetchHeaders,
      resource: path,
      body: () => s3Body(request, headers, payload, confirm),
      require: (access, of) => require(key, access, of),
      may: (access, of) => allows(key, access, of),
    };
    if ("run" in operation) return operation.run(call, deps);
    if (bucket === undefined) throw r2Errors.noSuchBucket();
    return operation.inBucket(call, deps, bucket);
  }

  /** The CORS policy of the bucket; undefined without a bucket or a policy. */
  async function policyOf({ account = "", bucket, jurisdiction }: S3Address) {
    if (bucket === undefined) return undefined;
    const found = await bucketOf({ account, address: { account, bucket, jurisdiction, key: undefined } }, deps, bucket);
    return found && (await deps.settings.of(found.id)).cors;
  }

  async function preflight(address: S3Address, headers: Target["headers"]): Promise<S3Answer> {
    const granted = preflightHeaders((await policyOf(address)) ?? [], {
      origin: headers.origin,
      method: headers["access-control-request-method"],
      headers: headers["access-control-request-headers"],
    });
    if (granted === undefined) throw s3Errors.corsForbidden();
    return { status: 204, headers: granted };
  }

  async function answerTo(request: IncomingMessage, target: Target, requestId: string): Promise<S3Answer> {
    const { path, headers } = target;
    let cors: Record<string, string> = {};
    try {
      const address = s3Address(target.host, path, endpoints);
      if (request.method === "OPTIONS") return await preflight(address, headers);
      if (headers.origin !== undefined)
        cors = corsHeaders(await policyOf(address), { origin: headers.origin, method: request.method! });
      const reads = request.method === "GET" || request.method === "HEAD";
      if (pagesNeedCors && headers.origin !== undefined && !reads && !("access-control-allow-origin" in cors))
        throw s3Errors.corsForbidden();
      return withHeaders(await respond(request, address, target), cors);
    } catch (err) {
      if (request.socket.destroyed) throw err;
      const known = s3ErrorOf(err) ?? internalError(err, requestId);
      return withHeaders(
        {
          status: known.status,
          body: errorDocument([
            ["Code", known.code],
            ["Message", known.message],
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
    const busy = isStoreError(err) && [503, 507].includes(err.entry.http);
    return s3ErrorOf(busy ? s3Errors.unavailable() : s3Errors.internal())!;
  }

  return {
    hasHost: (host) => s3Host(host, endpoints.domain) !== undefined,
    async handle(request, response) {
      const requestId = ids.hex();
      try {
        const { status, headers, body } = await answerTo(request, targetOf(request), requestId);
        const sent = new Headers(headers);
        sent.set("x-amz-request-id", requestId);
        if (typeof body === "string") {
          sent.set("content-type", "application/xml");
          sent.set("content-length", String(Buffer.byteLength(body)));
        } else if (body === undefined && !sent.has("content-length") && status !== 204 && status !== 304) {
          sent.set("content-length", "0");
        }
        response.writeHead(status, Object.fromEntries(sent));
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

/** The parts of a request that are signed. */
interface Target {
  /** Lower case, without the port. */
  host: string;
  path: string;
  query: string;
  headers: Record<string, string>;
}

function targetOf({ url = "/", rawHeaders }: IncomingMessage): Target {
  const end = url.indexOf("?");
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const value = rawHeaders[i + 1]!;
    // Node would join some of them differently.
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]},${value}` : value;
  }
  return {
    host: (headers.host ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, ""),
    path: end < 0 ? url : url.slice(0, end),
    query: end < 0 ? "" : url.slice(end + 1),
    headers,
  };
}

function withHeaders(answer: S3Answer, more: Record<string, string>): S3Answer {
  const headers = new Headers(answer.headers);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return { ...answer, headers };
}
