import { domainToASCII } from "node:url";

/**
 * `allowedOrigins` of a video: hosts of the pages that may embed it; an empty list allows all.
 *
 *     example.com       that host, at the default port; not www.example.com
 *     *.example.com     its subdomains, at any depth; not example.com itself
 *     localhost:3000    ports other than 80 and 443 must be included
 *
 * Paths are not supported. A scheme before the host is ignored.
 */
export function isAllowedOrigin(origin: string, allowedPatterns: readonly string[]): boolean {
  if (allowedPatterns.length === 0) return true;
  const host = hostOf(origin);
  return host !== undefined && allowedPatterns.some((entry) => coversHost(hostEntry(entry), host));
}

function coversHost(entry: string | undefined, host: string): boolean {
  if (entry === undefined) return false;
  if (entry === "*") return true;
  return entry.startsWith("*.") ? host.length > entry.length - 1 && host.endsWith(entry.slice(1)) : entry === host;
}

/** Returns the host and port as in an Origin field: without the scheme's default port. */
function hostOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url === null || url.host === "" ? undefined : url.host.replace(/^([^[\]]*):(?:80|443)$/, "$1").toLowerCase();
}

/** Returns an entry in the form used to compare hosts; undefined if it cannot be a host. */
export function hostEntry(entry: string): string | undefined {
  const [, , wildcard = "", name = "", port = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(\*\.)?([^/:*\s[\]]+|\[[0-9a-f:.]+\]|\*)(:\d{1,5})?\/?$/i.exec(entry.trim()) ?? [];
  if (name === "*") return wildcard === "" && port === "" ? "*" : undefined;
  const ascii = name.startsWith("[") ? name.toLowerCase() : domainToASCII(name);
  // The URL standard also allows characters that have a special meaning in a header.
  return !/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(ascii)
    ? undefined
    : `${wildcard}${ascii}${port === ":80" || port === ":443" ? "" : port}`;
}

/**
 * Returns the `frame-ancestors` directive of an embeddable page's `Content-Security-Policy`: browsers enforce it even
 * if the embedding page hides its origin. Undefined: anywhere.
 */
export function frameAncestors(allowedPatterns: readonly string[]): string | undefined {
  const hosts = allowedPatterns.map(hostEntry).filter((host) => host !== undefined);
  if (allowedPatterns.length === 0 || hosts.includes("*")) return undefined;
  return ["frame-ancestors 'self'", ...hosts.flatMap((host) => [`http://${host}`, `https://${host}`])].join(" ");
}
