import { domainToASCII } from "node:url";

/**
 * `allowedOrigins` of a video: hosts of the pages it may be shown on, none meaning any.
 *
 *     example.com       that host, at the usual port; not www.example.com
 *     *.example.com     whatever is below it, at any depth; not example.com itself
 *     localhost:3000    a port that is not 80 or 443 has to be named
 *
 * There are no paths. A scheme that somebody wrote before the host counts for nothing.
 */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const host = hostOf(origin);
  return host !== undefined && allowed.some((entry) => covers(hostEntry(entry), host));
}

function covers(entry: string | undefined, host: string): boolean {
  if (entry === undefined) return false;
  if (entry === "*") return true;
  return entry.startsWith("*.") ? host.length > entry.length - 1 && host.endsWith(entry.slice(1)) : entry === host;
}

/** Host and port as an Origin field has them: no port where it is the usual one of the scheme. */
function hostOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url === null || url.host === "" ? undefined : url.host.replace(/^([^[\]]*):(?:80|443)$/, "$1").toLowerCase();
}

/** An entry as hosts are compared by; undefined: no host can be meant by it. */
export function hostEntry(entry: string): string | undefined {
  const [, , wildcard = "", name = "", port = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(\*\.)?([^/:*\s[\]]+|\[[0-9a-f:.]+\]|\*)(:\d{1,5})?\/?$/i.exec(entry.trim()) ?? [];
  if (name === "*") return wildcard === "" && port === "" ? "*" : undefined;
  const ascii = name.startsWith("[") ? name.toLowerCase() : domainToASCII(name);
  // Beyond these the URL standard lets signs through that mean something in a header.
  return !/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(ascii)
    ? undefined
    : `${wildcard}${ascii}${port === ":80" || port === ":443" ? "" : port}`;
}

/** For `Content-Security-Policy` of a page that is to be embedded: browsers hold to it also where a page hides its address. Undefined: anywhere. */
export function frameAncestors(allowed: readonly string[]): string | undefined {
  const hosts = allowed.map(hostEntry).filter((host) => host !== undefined);
  if (allowed.length === 0 || hosts.includes("*")) return undefined;
  return ["frame-ancestors 'self'", ...hosts.flatMap((host) => [`http://${host}`, `https://${host}`])].join(" ");
}
