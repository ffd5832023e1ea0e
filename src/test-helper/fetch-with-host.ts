import { request } from "node:http";
import { Readable } from "node:stream";

/** Statuses whose responses have no body (Fetch 2.2.3). */
const NULL_BODY = new Set([101, 204, 205, 304]);

/**
 * Sends a request to `server` with the host of its URL: fetch() does not allow another host. Does not follow redirects.
 */
export async function fetchWithHost(server: URL, prefix: string, sent: Request): Promise<Response> {
  const { host, pathname, search } = new URL(sent.url);
  const body = sent.body === null ? undefined : Buffer.from(await sent.arrayBuffer());
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: server.hostname,
        port: server.port,
        path: `${prefix}${pathname}${search}`,
        method: sent.method,
        headers: { ...Object.fromEntries(sent.headers), host },
        signal: sent.signal,
        // A keep-alive connection would delay the end of the test.
        agent: false,
      },
      (incoming) => {
        const { statusCode = 200, statusMessage = "", rawHeaders } = incoming;
        const headers = new Headers();
        for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
        const content = NULL_BODY.has(statusCode) ? null : (Readable.toWeb(incoming) as unknown as ReadableStream);
        if (content === null) incoming.resume();
        resolve(new Response(content, { status: statusCode, statusText: statusMessage, headers }));
      },
    );
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}
