import type { IncomingMessage, ServerResponse } from "node:http";
import { serveDocs, isDocsPath } from "./docs/answer-docs.ts";
import type { DashboardFiles } from "./files.ts";
import { MESSAGE_FRAME, messageFrameHeaders, pagePolicy, type UsedOrigins } from "./headers.ts";
import { sendErrorPage, sendFile, sendText } from "./send.ts";

const YEAR_SECONDS = 365 * 24 * 3600;
const HASHED_NAME = /-[A-Z0-9a-z]{8}\.[a-z0-9]+$/;
const ASSETS = "/assets/";
/** Frames that display messages; see shared/html-frame.tsx. */
const FRAME = "/message-frame";

/**
 * Serves the files and the pages of the dashboard and the documentation. `origins`: other origins that the pages may
 * use.
 */
export function createPages(files: DashboardFiles, docs: DashboardFiles) {
  return async function answerPage(
    request: IncomingMessage,
    response: ServerResponse,
    origins: UsedOrigins,
  ): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, "http://dashboard");
    if (request.method !== "GET" && request.method !== "HEAD")
      return sendText(response, 405, `${pathname} accepts only GET.`, { allow: "GET, HEAD" });
    if (isDocsPath(pathname)) return serveDocs(docs, pathname, request, response);
    if (pathname === FRAME) {
      response.writeHead(200, {
        ...messageFrameHeaders({ remote: searchParams.has("remote") }),
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
      });
      return void response.end(request.method === "HEAD" ? undefined : MESSAGE_FRAME);
    }
    if (pathname.startsWith(ASSETS)) {
      const name = pathname.slice(ASSETS.length);
      const file = name === "index.html" ? undefined : await files.find(name);
      if (file === undefined) return sendText(response, 404, "Not found.");
      const cacheControl = HASHED_NAME.test(name) ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache";
      return sendFile(request, response, file, { "cache-control": cacheControl });
    }
    // Pages have no extension; browsers and tools ask for other files, such as /robots.txt.
    if (/\.[a-z0-9]{1,8}$/i.test(pathname))
      return sendErrorPage(request, response, 404, {
        text: "Not found.",
        advice: "The dashboard has no such file.",
        link: { label: "Open the dashboard", href: "/" },
      });
    const page = await files.find("index.html");
    if (page === undefined) throw new Error("the build of the dashboard has no index.html: run `npm run build`");
    return sendFile(request, response, page, {
      "cache-control": "no-cache",
      "content-security-policy": pagePolicy(origins),
    });
  };
}
