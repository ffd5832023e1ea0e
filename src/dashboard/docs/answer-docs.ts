import type { IncomingMessage, ServerResponse } from "node:http";
import { COMMON_HEADERS } from "../headers.ts";
import type { DashboardFiles } from "../files.ts";
import { sendErrorPage, sendFile } from "../send.ts";

const DOCS_PATH = "/docs";
const YEAR_SECONDS = 365 * 24 * 3600;
const HASHED_NAME = /^assets\/.+-[A-Z0-9a-z]{8}\.[a-z]+$/;

/** The pages contain no user content; their search loads a file from this origin. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const isDocsPath = (pathname: string): boolean => pathname === DOCS_PATH || pathname.startsWith(`${DOCS_PATH}/`);

/** Responds to GET and HEAD requests under `/docs`. */
export async function serveDocs(
  files: DashboardFiles,
  pathname: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = pathname.slice(DOCS_PATH.length + 1);
  if (pathname === `${DOCS_PATH}/`) {
    response.writeHead(308, { ...COMMON_HEADERS, location: DOCS_PATH }).end();
    return;
  }
  const name = path === "" ? "index.html" : isFile(path) ? path : `${path.replace(/\.md$/, "")}.html`;
  const file = await files.find(name);
  if (file === undefined)
    return sendErrorPage(request, response, 404, {
      text: "Not found.",
      advice: "The documentation has no such page.",
      link: { label: "All pages", href: DOCS_PATH },
    });
  return sendFile(request, response, file, {
    "cache-control": HASHED_NAME.test(name) ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache",
    "content-security-policy": POLICY,
  });
}

const isFile = (path: string) => path === "search.json" || /^(assets|images)\/[\w.-]+$/.test(path);
