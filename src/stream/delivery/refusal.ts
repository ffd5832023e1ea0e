import type { ServerResponse } from "node:http";
import type { UserError } from "../../kernel/index.ts";

/** Says why there is nothing, as a line of text, or as a page to people who see it in a frame or a tab. */
export function refuse(response: ServerResponse, { status, message, fix, page, head }: { status: number; message: string; fix?: string | undefined; page: boolean; head: boolean }): void {
  const body = page ? pageOf(status, message, fix) : `${message}${fix === undefined ? "" : `\n${fix}`}\n`;
  response.writeHead(status, {
    "content-type": page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...(page && { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }),
    // Tried again by itself: an encoder that is busy, a video that is not there yet.
    ...((status === 503 || status === 404) && { "retry-after": "2" }),
  });
  response.end(head ? undefined : body);
}

export const refusalOf = ({ entry, message, fix }: UserError) => ({ status: entry.http, message, fix });

function pageOf(status: number, message: string, fix: string | undefined): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${status}</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-content: center; justify-items: center; gap: .5rem; padding: 1rem; box-sizing: border-box; font: 1rem/1.5 system-ui, sans-serif; background: #111; color: #eee; text-align: center; }
  p { margin: 0; max-width: 40rem; }
  small { color: #aaa; }
</style>
<p role="alert">${escape(message)}</p>
${fix === undefined ? "" : `<small>${escape(fix)}</small>\n`}</html>
`;
}

const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
