import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../../kernel/index.ts";
import type { Addresses } from "../../../mail/index.ts";

/** Path prefix of links in verification messages. */
export const VERIFY_PREFIX = "/email/verify/";

/**
 * The page to which a verification message links. Opening the link only shows the page, because mail scanners open
 * links; the button posts to the same URL and verifies the address.
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
      return send(response, 405, "Method not allowed", "<p>This page accepts only GET and POST.</p>", {
        allow: "GET, HEAD, POST",
      });
    const token = request.url!.slice(VERIFY_PREFIX.length).split("?", 1)[0]!;
    try {
      const address = await (method === "POST" ? addresses.verify(token) : addresses.pending(token));
      const email = escape(address.email);
      if (address.verifiedAt !== null)
        return send(
          response,
          200,
          "Address verified",
          `<p><strong>${email}</strong> is verified. Mail can now be forwarded to it. You can close this page.</p>`,
        );
      return send(
        response,
        200,
        "Verify your address",
        `<p>A request was made to forward mail to <strong>${email}</strong>. If you did not make it, close this page: no mail will be forwarded.</p>\n<form method="post"><button>Verify address</button></form>`,
      );
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      return send(
        response,
        err.entry.http,
        "Invalid link",
        `<p>${escape(err.message)}.${err.fix === undefined ? "" : ` ${escape(err.fix)}`}</p>`,
      );
    }
  };
}

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function send(
  response: ServerResponse,
  status: number,
  title: string,
  body: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    // The URL of the page is a secret.
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    "content-security-policy":
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ...headers,
  });
  response.end(
    `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${title}</title>\n<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>\n<h1>${title}</h1>\n${body}\n</html>\n`,
  );
}
