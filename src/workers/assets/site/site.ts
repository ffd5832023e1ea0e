import type { IncomingMessage, ServerResponse } from "node:http";
import type { AssetFiles } from "../files/port.ts";
import { isServedByAssets, resolveAsset, type AssetRequest } from "./resolve.ts";
import { sendAsset, type HeaderFilter } from "./respond.ts";
import type { AssetRouting } from "./routing.ts";

/** The static assets of one worker. */
export interface AssetSite {
  /**
   * Answers a request with an asset before the worker runs. Resolves with false, without reading or writing anything,
   * if the worker must handle the request. Without `hasWorker`, answers every request.
   */
  handle(request: IncomingMessage, response: ServerResponse, options: HandleOptions): Promise<boolean>;
  /** Sends the response of `env.ASSETS.fetch()`. Never runs the worker. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface HandleOptions {
  hasWorker: boolean;
  /** Filters the response headers for the client. */
  filter?: HeaderFilter;
}

/** Creates an asset site. `currentSite` returns the files and rules for the next request. */
export function createAssetSite(currentSite: () => { files: AssetFiles; routing: AssetRouting }): AssetSite {
  const send = (request: IncomingMessage, response: ServerResponse, url: URL, filter: HeaderFilter) => {
    const { files, routing } = currentSite();
    const resolved = resolveAsset({ method: request.method ?? "GET", url }, files, routing);
    return sendAsset(resolved, { request, response, rules: routing.headersOf(url.hostname, url.pathname), filter });
  };
  return {
    async handle(request, response, { hasWorker, filter = (headers) => headers }) {
      const parsed = readRequest(request);
      if (parsed === undefined) {
        if (!hasWorker) sendRefusal(request, response, filter);
        return !hasWorker;
      }
      const { files, routing } = currentSite();
      if (hasWorker) {
        const handler = routing.handlerOf(parsed.url.pathname);
        if (handler === "worker" || (handler === undefined && !isServedByAssets(parsed, files, routing))) return false;
      }
      await send(request, response, parsed.url, filter);
      return true;
    },
    async serve(request, response) {
      const parsed = readRequest(request);
      if (parsed === undefined) return sendRefusal(request, response, (headers) => headers);
      await send(request, response, parsed.url, (headers) => headers);
    },
  };
}

/** Returns undefined if the request target is not a path, such as `*` (RFC 9112 3.2). */
function readRequest({ method = "GET", url: target = "/", headers }: IncomingMessage): AssetRequest | undefined {
  if (!target.startsWith("/")) return undefined;
  // Not resolved against a base URL, because "//host/path" would change the host.
  const text = `https://${headers.host ?? "localhost"}${target}`;
  const url = URL.parse(text) ?? URL.parse(`https://localhost${target}`);
  return url === null ? undefined : { method, url, isNavigation: headers["sec-fetch-mode"] === "navigate" };
}

function sendRefusal(request: IncomingMessage, response: ServerResponse, filter: HeaderFilter): void {
  request.resume();
  response.writeHead(400, filter(["Content-Length", "0"])).end();
}
