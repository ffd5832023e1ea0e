import type { IncomingMessage, ServerResponse } from "node:http";
import { acceptsHtml, errorPage } from "./error-page.ts";
import { PAGE_POLICY } from "./html-page.ts";

interface SentError {
  status: number;
  /** The problem. */
  text: string;
  /** Suggests the next step to a person with a browser. */
  advice?: string;
  /** Names in lower case. */
  headers?: Record<string, string>;
}

/** Sends an error as a page to browsers, and as a line of text to other clients. */
export function sendError(
  request: Pick<IncomingMessage, "headers" | "method">,
  response: ServerResponse,
  { status, text, advice, headers = {} }: SentError,
): void {
  const isPage = acceptsHtml(request);
  response.writeHead(status, {
    "content-type": `${isPage ? "text/html" : "text/plain"}; charset=utf-8`,
    ...(isPage && { "content-security-policy": PAGE_POLICY, "x-content-type-options": "nosniff" }),
    ...headers,
    vary: headers["vary"] === undefined ? "Accept" : `${headers["vary"]}, Accept`,
  });
  const texts = advice === undefined ? { advice: text } : { advice, message: text };
  const body = isPage ? errorPage({ status, ...texts }) : `${text}\n`;
  response.end(request.method === "HEAD" ? undefined : body);
}
