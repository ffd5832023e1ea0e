/** Hosts that existing pages and libraries use in their frames. Live and API hosts are not included. */
const PLAYER_HOST =
  /^(customer-[a-z0-9]+|iframe|watch|embed)\.(cloudflarestream\.com|videodelivery\.net)$|^(cloudflarestream\.com|videodelivery\.net)$/;
const VIDEO_ID = /^[A-Za-z0-9_.-]{16,}$/;

/**
 * Returns the URL of the same page on our own host, or undefined if `address` is not a player of the hosted service.
 * `root` ends with a slash.
 *
 * https://customer-<code>.cloudflarestream.com/<id>/iframe?muted=true
 * https://iframe.cloudflarestream.com/<id>?muted=true
 */
export function localAddress(address: string, root: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, pathname, search, hash } = new URL(address);
  if (!/^https?:$/.test(protocol) || !PLAYER_HOST.test(hostname)) return undefined;
  const [id = "", page = "", ...rest] = pathname.split("/").filter((part) => part !== "");
  if (rest.length > 0 || !VIDEO_ID.test(id)) return undefined;
  // Hosts named after a page serve that page without its name in the path.
  const pageKind = page === "" ? (hostname.startsWith("watch.") ? "watch" : "iframe") : page;
  return pageKind === "iframe" || pageKind === "watch" ? `${root}${id}/${pageKind}${search}${hash}` : undefined;
}
