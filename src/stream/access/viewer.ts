import type { IncomingHttpHeaders } from "node:http";
import type { Viewer } from "./port.ts";

/**
 * Returns the origin of a request as reported by the browser. `self` is the scheme and host that the viewer used to
 * reach this server.
 *
 * A page may hide its URL (Referrer-Policy), but cannot keep a browser from reporting a cross-site request
 * (Sec-Fetch-Site of Fetch Metadata): such a page is "hidden". Following a link is not embedding, regardless of the
 * page that contains the link: it counts as ours, like our own player. Clients other than browsers send neither field
 * and have no `place`.
 */
export function viewerOf(headers: IncomingHttpHeaders, { ip, self }: { ip: string; self: string }): Viewer {
  const site = headers["sec-fetch-site"];
  const origin = headers.origin ?? originOf(headers.referer);
  if (headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document")
    return { ip, place: "ours" };
  // Applies even if an unconfigured proxy changed the scheme or host: no other page can claim same-origin.
  if (site === "same-origin") return { ip, ...(origin !== undefined && { origin }), place: "ours" };
  if (origin === undefined) return { ip, ...(typeof site === "string" && site !== "none" && { place: "hidden" }) };
  // If one of our pages was redirected away and back to us, the request belongs to the redirecting site.
  return { ip, origin, ...(site !== "cross-site" && origin.toLowerCase() === self.toLowerCase() && { place: "ours" }) };
}

function originOf(referer: string | undefined): string | undefined {
  const url = referer === undefined ? null : URL.parse(referer);
  return url === null || url.host === "" ? undefined : `${url.protocol}//${url.host}`;
}
