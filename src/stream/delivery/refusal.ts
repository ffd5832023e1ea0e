import type { ServerResponse } from "node:http";
import { errorPage, FRAMED_PAGE_POLICY } from "../../kernel/design/index.ts";
import type { UserError } from "../../kernel/index.ts";

/** Sends the error as a line of text, or as a page if a person sees it in a frame or a tab. */
export function sendErrorResponse(
  response: ServerResponse,
  {
    status,
    message,
    fix,
    page,
    head,
  }: { status: number; message: string; fix?: string | undefined; page: boolean; head: boolean },
): void {
  const body = page ? pageOf(status, message, fix) : `${message}${fix === undefined ? "" : `\n${fix}`}\n`;
  response.writeHead(status, {
    "content-type": page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...(page && { "content-security-policy": FRAMED_PAGE_POLICY }),
    // An automatic retry can help: the encoder is busy, or the video does not exist yet.
    ...((status === 503 || status === 404) && { "retry-after": "2" }),
  });
  response.end(head ? undefined : body);
}

export const httpError = ({ entry, message, fix }: UserError) => ({ status: entry.http, message, fix });

/** Dark and without the logo, like the player in whose frame it appears. */
function pageOf(status: number, message: string, fix: string | undefined): string {
  const { title, next } = wordsOf(status);
  return errorPage({ status, title, advice: next, message, fix }, { brand: null, scheme: "dark" });
}

/** Returns the title and advice for viewers. The error's own text, displayed below them, is for the site owner. */
function wordsOf(status: number): { title: string; next: string } {
  if (status === 401 || status === 403)
    return {
      title: "You cannot watch this video",
      next: "Open it from the page that it belongs to, or ask for a new link.",
    };
  if (status === 404 || status === 410)
    return { title: "This video does not exist", next: "Check the link, or ask for a new one." };
  if (status === 424) return { title: "This video could not be processed", next: "Ask its owner to upload it again." };
  if (status >= 500 || status === 429 || status === 409)
    return { title: "The video is not available right now", next: "Reload the page in a minute." };
  return { title: "The video cannot be shown", next: "Check the link, or ask for a new one." };
}
