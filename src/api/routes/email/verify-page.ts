import type { IncomingMessage, ServerResponse } from "node:http";
import { errorPage, escapeText, htmlPage, PAGE_POLICY } from "../../../kernel/design/index.ts";
import { UserError } from "../../../kernel/index.ts";
import type { Addresses } from "../../../mail/index.ts";

/** Path prefix of links in verification messages. */
export const VERIFY_PREFIX = "/email/verify/";

/**
 * Creates the page to which a verification message links. Opening the link only shows the page, because mail scanners
 * open links; the button posts to the same URL and verifies the address.
 */
export function createVerifyPage({
  addresses,
}: {
  addresses: Pick<Addresses, "pending" | "verify">;
}): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { method = "GET" } = request;
    request.resume();
    if (method !== "GET" && method !== "HEAD" && method !== "POST")
      return send(response, 405, errorPage({ status: 405, advice: "This page accepts only GET and POST." }), {
        allow: "GET, HEAD, POST",
      });
    const token = request.url!.slice(VERIFY_PREFIX.length).split("?", 1)[0]!;
    try {
      const address = await (method === "POST" ? addresses.verify(token) : addresses.pending(token));
      const email = `<strong>${escapeText(address.email)}</strong>`;
      const isVerified = address.verifiedAt !== null;
      const title = isVerified ? "Address verified" : "Verify your address";
      const body = isVerified
        ? `<span class="status good">Done</span>\n<h1>${title}</h1>\n<p>${email} is verified. Mail can now be forwarded to it. You can close this page.</p>`
        : `<h1>${title}</h1>\n<p>A request was made to forward mail to ${email}. If you did not make it, close this page: no mail will be forwarded.</p>\n<form method="post"><button>Verify address</button></form>`;
      return send(response, 200, htmlPage({ title, body, layout: "narrow" }));
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      const advice = `${err.message}.${err.fix === undefined ? "" : ` ${err.fix}`}`;
      return send(response, err.entry.http, errorPage({ status: err.entry.http, title: "Invalid link", advice }));
    }
  };
}

function send(response: ServerResponse, status: number, page: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    // The URL of the page is a secret.
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    "content-security-policy": PAGE_POLICY,
    ...headers,
  });
  response.end(page);
}
