import type { IncomingHttpHeaders } from "node:http";
import type { Viewer } from "./port.ts";

/**
 * Where a request comes from, as browsers tell it. `self` is scheme and host as the viewer reached us.
 *
 * A page may keep its address to itself (Referrer-Policy), but no page can keep a browser from saying that another site asks (Sec-Fetch-Site of
 * Fetch Metadata): such a page is "hidden". Following a link is no embedding, whatever page the link was on: it counts as ours, as our own player does.
 * Programs that are no browsers send neither, and are nowhere.
 */
export function viewerOf(headers: IncomingHttpHeaders, { ip, self }: { ip: string; self: string }): Viewer {
  const site = headers["sec-fetch-site"];
  const origin = headers.origin ?? originOf(headers.referer);
  if (headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document")
    return { ip, place: "ours" };
  // Also where a proxy that nobody told us of has made another scheme or name of ours: no page can say it that is not.
  if (site === "same-origin") return { ip, ...(origin !== undefined && { origin }), place: "ours" };
  if (origin === undefined) return { ip, ...(typeof site === "string" && site !== "none" && { place: "hidden" }) };
  // A page of ours that was sent elsewhere, and from there back to us, asks on behalf of who sent it.
  return { ip, origin, ...(site !== "cross-site" && origin.toLowerCase() === self.toLowerCase() && { place: "ours" }) };
}

function originOf(referer: string | undefined): string | undefined {
  const url = referer === undefined ? null : URL.parse(referer);
  return url === null || url.host === "" ? undefined : `${url.protocol}//${url.host}`;
}
