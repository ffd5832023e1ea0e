import type { IncomingMessage, ServerResponse } from "node:http";
import type { GuardedFetch } from "../kernel/guarded-fetch.ts";
import type { Tracing } from "../kernel/tracing.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Records a span for each request to an upload URL. The path contains the secret of the URL and is not recorded. */
export function traceUploads(handle: Handler, tracing: Tracing | undefined): Handler {
  if (tracing === undefined) return handle;
  return (request, response) =>
    tracing.run(
      "video upload",
      {
        kind: "server",
        parent: request.headers,
        attributes: {
          "http.request.method": request.method ?? "GET",
          "http.request.header.content-length": Number(request.headers["content-length"] ?? 0),
        },
      },
      async (span) => {
        await handle(request, response);
        span.set({ "http.response.status_code": response.statusCode });
        const uid = response.getHeader("stream-media-id");
        if (typeof uid === "string") span.set({ "reelpost.video.id": uid });
        if (response.statusCode >= 500) span.fail(`status ${response.statusCode}`);
      },
    );
}

/** Adds the trace context to requests, so that their receiver can continue the trace. */
export function traceFetch(fetch: GuardedFetch, tracing: Tracing | undefined): GuardedFetch {
  if (tracing === undefined) return fetch;
  return (url, request) => fetch(url, { ...request, headers: { ...tracing.headers(), ...request?.headers } });
}
