import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { sendError } from "../../kernel/design/index.ts";
import { UserError, type Log } from "../../kernel/index.ts";
import { readHttpObject, type R2Buckets } from "../bindings/r2/index.ts";
import {
  corsHeaders,
  preflightHeaders,
  type BucketSettingsStore,
  type DomainBucket,
} from "../bucket-settings/index.ts";
import type { HostOwners } from "../routing/index.ts";

interface PublicBucketsDeps {
  buckets: Pick<R2Buckets, "get" | "head">;
  settings: Pick<BucketSettingsStore, "get" | "findBucketByDomain">;
  owners: Pick<HostOwners, "find">;
  /** True if buckets are also public on their custom domains, in addition to their managed hosts. */
  hasCustomDomains: boolean;
  /** Parent domain of the managed hosts, `pub-<bucket id>.<domain>`. If empty, buckets have no managed host. */
  domain: string;
  log: Log;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface PublicBuckets {
  /**
   * Resolves with the handler for a host name (lower case, without a port); undefined if the host does not belong to a
   * public bucket.
   */
  handlerFor(host: string): Handler | undefined | Promise<Handler | undefined>;
}

/** Returns the managed host of a bucket. */
export const managedHost = (bucketId: string, domain: string): string => `pub-${bucketId}.${domain}`;

/** Serves the objects of public buckets without authentication: objects only, no lists. */
export function createPublicBuckets({
  buckets,
  settings,
  owners,
  hasCustomDomains,
  domain,
  log,
}: PublicBucketsDeps): PublicBuckets {
  const managedHostHandler =
    (bucket: string): Handler =>
    async (request, response) => {
      const { managedHostEnabled } = await settings.get(bucket);
      // The host exists for every bucket, so the response must not reveal which buckets exist.
      if (managedHostEnabled) await serve(bucket, request, response);
      else sendText(request, response, 404, "This bucket is not public.", {});
    };

  /** Checks the owner of the host: the zone of the domain may no longer exist, or may belong to another account. */
  function handlerOf(
    host: string,
    bucket: DomainBucket | undefined,
  ): Handler | undefined | Promise<Handler | undefined> {
    if (bucket === undefined) return undefined;
    const handler: Handler = (request, response) => serve(bucket.id, request, response);
    const handlerFor = (account: string | undefined) => (account === bucket.account ? handler : undefined);
    const owner = owners.find(host);
    return owner instanceof Promise ? owner.then(handlerFor) : handlerFor(owner);
  }

  async function serve(bucket: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method!;
    const { origin } = request.headers;
    const { cors } = await settings.get(bucket);
    if (method === "OPTIONS") {
      const preflightResponse = preflightHeaders(cors ?? [], {
        origin,
        method: request.headers["access-control-request-method"],
        headers: request.headers["access-control-request-headers"],
      });
      if (preflightResponse === undefined)
        return sendText(request, response, 403, "No CORS rule of the bucket allows this request.", {});
      return void response.writeHead(204, preflightResponse).end();
    }
    const corsResponse = corsHeaders(cors, { origin, method });
    if (method !== "GET" && method !== "HEAD")
      return sendText(request, response, 405, "A public bucket accepts only GET and HEAD.", {
        ...corsResponse,
        allow: "GET, HEAD",
      });
    const key = keyOf(request.url!);
    if (key === undefined || key === "") return sendText(request, response, 404, "Object not found.", corsResponse);
    try {
      const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const {
        status,
        headers: responseHeaders,
        body,
      } = await readHttpObject(buckets, { bucket, key, method, headers });
      const hiddenNames = [...responseHeaders.keys()].filter(
        (name) => name.startsWith("x-amz-meta-") || name === "cf-r2-storage-class",
      );
      for (const name of hiddenNames) responseHeaders.delete(name);
      for (const [name, value] of Object.entries(corsResponse)) responseHeaders.set(name, value);
      response.writeHead(status, Object.fromEntries(responseHeaders));
      if (body === undefined) response.end();
      else await pipeline(body, response);
    } catch (err) {
      if (response.headersSent) {
        log.debug({ err, bucket }, "r2: download ended early");
        return void response.destroy();
      }
      if (!(err instanceof UserError) || err.domain !== "r2") throw err;
      if (err.kind === "noSuchKey" || err.kind === "invalidObjectName")
        return sendText(request, response, 404, "Object not found.", corsResponse);
      const range: Record<string, string> =
        err.kind === "invalidRange" ? { "content-range": `bytes */${String(err.details.size)}` } : {};
      sendText(request, response, err.entry.http, err.message, { ...corsResponse, ...range });
    }
  }

  return {
    handlerFor(host) {
      const id = domain === "" ? undefined : managedBucketId(host, domain);
      if (id !== undefined) return managedHostHandler(id);
      if (!hasCustomDomains) return undefined;
      const bucket = settings.findBucketByDomain(host);
      return bucket instanceof Promise ? bucket.then((found) => handlerOf(host, found)) : handlerOf(host, bucket);
    },
  };
}

const managedBucketId = (host: string, domain: string) =>
  host.endsWith(`.${domain}`) ? /^pub-([0-9a-f]{32})$/.exec(host.slice(0, -domain.length - 1))?.[1] : undefined;

/** Returns the object key in a URL; undefined if it is not valid UTF-8. */
function keyOf(url: string): string | undefined {
  const end = url.indexOf("?");
  try {
    return decodeURIComponent((end < 0 ? url : url.slice(0, end)).slice(1));
  } catch {
    return undefined;
  }
}

function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string>,
): void {
  sendError(request, response, { status, text, headers, ...(status === 404 && { advice: "Check the address." }) });
}
