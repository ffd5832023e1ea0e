import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { UserError, type Log } from "../../kernel/index.ts";
import { readHttpObject, type R2Buckets } from "../bindings/r2/index.ts";
import { corsHeaders, preflightHeaders, type BucketSettingsStore } from "../bucket-settings/index.ts";

interface PublicBucketsDeps {
  buckets: Pick<R2Buckets, "get" | "head">;
  settings: Pick<BucketSettingsStore, "of" | "bucketAt">;
  /** Parent domain of the managed hosts, `pub-<bucket id>.<domain>`. "": none. */
  domain: string;
  log: Log;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface PublicBuckets {
  /** The handler for a lower-case host name without a port; undefined if it does not belong to a public bucket. */
  at(host: string): Handler | undefined | Promise<Handler | undefined>;
}

/** The managed host of a bucket. */
export const managedHost = (bucketId: string, domain: string): string => `pub-${bucketId}.${domain}`;

/** Serves the objects of public buckets to everybody: reads of single objects, no lists. */
export function createPublicBuckets({ buckets, settings, domain, log }: PublicBucketsDeps): PublicBuckets {
  const managed =
    (bucket: string): Handler =>
    async (request, response) => {
      const { managed: enabled } = await settings.of(bucket);
      // The host exists for every bucket, so the response must not reveal which buckets exist.
      if (enabled) await serve(bucket, request, response);
      else send(request, response, 404, "This bucket is not public.", {});
    };

  async function serve(bucket: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method!;
    const { origin } = request.headers;
    const { cors } = await settings.of(bucket);
    if (method === "OPTIONS") {
      const granted = preflightHeaders(cors ?? [], {
        origin,
        method: request.headers["access-control-request-method"],
        headers: request.headers["access-control-request-headers"],
      });
      if (granted === undefined)
        return send(request, response, 403, "No CORS rule of the bucket allows this request.", {});
      return void response.writeHead(204, granted).end();
    }
    const allowed = corsHeaders(cors, { origin, method });
    if (method !== "GET" && method !== "HEAD")
      return send(request, response, 405, "A public bucket accepts only GET and HEAD.", {
        ...allowed,
        allow: "GET, HEAD",
      });
    const key = keyOf(request.url!);
    if (key === undefined || key === "") return send(request, response, 404, "Object not found.", allowed);
    try {
      const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const { status, headers: sent, body } = await readHttpObject(buckets, { bucket, key, method, headers });
      const hidden = [...sent.keys()].filter(
        (name) => name.startsWith("x-amz-meta-") || name === "cf-r2-storage-class",
      );
      for (const name of hidden) sent.delete(name);
      for (const [name, value] of Object.entries(allowed)) sent.set(name, value);
      response.writeHead(status, Object.fromEntries(sent));
      if (body === undefined) response.end();
      else await pipeline(body, response);
    } catch (err) {
      if (response.headersSent) {
        log.debug({ err, bucket }, "r2: download ended early");
        return void response.destroy();
      }
      if (!(err instanceof UserError) || err.domain !== "r2") throw err;
      if (err.kind === "noSuchKey" || err.kind === "invalidObjectName")
        return send(request, response, 404, "Object not found.", allowed);
      const range: Record<string, string> =
        err.kind === "invalidRange" ? { "content-range": `bytes */${String(err.details.size)}` } : {};
      send(request, response, err.entry.http, err.message, { ...allowed, ...range });
    }
  }

  return {
    at(host) {
      const id = domain === "" ? undefined : managedId(host, domain);
      if (id !== undefined) return managed(id);
      const bucket = settings.bucketAt(host);
      const handlerOf = (found: string | undefined) =>
        found === undefined
          ? undefined
          : (request: IncomingMessage, response: ServerResponse) => serve(found, request, response);
      return bucket instanceof Promise ? bucket.then(handlerOf) : handlerOf(bucket);
    },
  };
}

const managedId = (host: string, domain: string) =>
  host.endsWith(`.${domain}`) ? /^pub-([0-9a-f]{32})$/.exec(host.slice(0, -domain.length - 1))?.[1] : undefined;

/** Undefined: not valid UTF-8. */
function keyOf(url: string): string | undefined {
  const end = url.indexOf("?");
  try {
    return decodeURIComponent((end < 0 ? url : url.slice(0, end)).slice(1));
  } catch {
    return undefined;
  }
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers });
  response.end(method === "HEAD" ? undefined : `${text}\n`);
}
