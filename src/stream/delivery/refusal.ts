import type { ServerResponse } from "node:http";
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
    ...(page && { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }),
    // An automatic retry can help: the encoder is busy, or the video does not exist yet.
    ...((status === 503 || status === 404) && { "retry-after": "2" }),
  });
  response.end(head ? undefined : body);
}

export const httpError = ({ entry, message, fix }: UserError) => ({ status: entry.http, message, fix });

function pageOf(status: number, message: string, fix: string | undefined): string {
  const { title, next } = wordsOf(status);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>
  body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; background: #111; color: #eee; text-align: center; }
  main { min-height: 100vh; display: grid; place-content: center; justify-items: center; gap: .5rem; padding: 1rem; box-sizing: border-box; }
  svg { width: 3rem; height: 3rem; fill: #ff9a90; }
  h1 { margin: 0; font-size: 1.25rem; }
  p { margin: 0; max-width: 40rem; }
  .detail { margin-top: 1rem; color: #aaa; font-size: .875rem; }
</style>
<main>
<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm-1 5h2v7h-2zm0 9h2v2h-2z"/></svg>
<h1>${escape(title)}</h1>
<p>${escape(next)}</p>
<p class="detail">${escape(message)}${fix === undefined ? "" : `<br>${escape(fix)}`}</p>
</main>
</html>
`;
}

/** Title and advice for viewers. The error's own text, displayed below them, is for the site owner. */
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

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
