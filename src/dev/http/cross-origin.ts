import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { isIP } from "node:net";

/**
 * True if a page of another origin sent the request: any page in the developer's browser can send requests to this
 * server. Programs send neither Origin nor Sec-Fetch-Site. With DNS rebinding a page counts as same-origin, but its
 * host name does not belong to this server.
 */
export function isCrossOrigin({ headers }: Pick<IncomingMessage, "headers">): boolean {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  if (origin === undefined && site === undefined) return false;
  if (site === "cross-site" || site === "same-site") return true;
  if (origin !== undefined && URL.parse(origin)?.host !== host.toLowerCase()) return true;
  return !isOwnName(nameOf(host));
}

/**
 * False if the Host header could be a public name. A page that reached this server by DNS rebinding sends such a name,
 * and nothing else distinguishes its GET requests from those of a program.
 */
export function hasLocalHost({ headers: { host = "" } }: Pick<IncomingMessage, "headers">): boolean {
  const name = nameOf(host);
  // Names without a dot, and those under .internal, are not in the public DNS: containers use both.
  return name !== "" && (isOwnName(name) || !name.includes(".") || name.endsWith(".internal"));
}

const nameOf = (host: string) =>
  host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();

const isOwnName = (name: string) =>
  isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || name === hostname().toLowerCase();
