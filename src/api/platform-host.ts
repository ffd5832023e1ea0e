import type { ScriptRef } from "../workers/index.ts";

/** The target of a request, determined from its host and path. */
export type Destination =
  /** A worker selected by a route or a custom domain. */
  | { kind: "routed"; script: string; ref: ScriptRef; url: string }
  | { kind: "worker"; label: string; script: string; url: string }
  | { kind: "default-account-worker"; script: string; url: string }
  | { kind: "video" }
  | { kind: "upload"; path: string }
  | { kind: "unknown"; path: string }
  | { kind: "platform"; path: string };

/** Host names of the server. */
export interface HostNames {
  /** Parent domain of the worker hosts. */
  domain: string;
  /** `customer-<code>.<videoDomain>` serves videos; may include a port. Empty: videos have no separate host. */
  videoDomain?: string;
  /** Host that only serves uploads. Empty: the platform serves them. */
  uploadHost?: string;
  /** Hosts of the platform itself. Empty: all hosts that match none of the above. */
  platformHosts?: readonly string[];
  /** True if the platform hosts also serve workers at `/workers/<script>/…`. Default true. */
  byPath?: boolean;
  /** True for a host name (lower case, without a port) that the server itself uses: no route applies to it. */
  isOwnHost?(host: string): boolean;
  /** True if the hosts of the API are known; otherwise no route applies. Default true. */
  hasApiHost?: boolean;
}

const WORKERS_PATH = /^\/workers\/([^/?#]+)(\/[^?]*)?(\?.*)?$/;

/**
 * `<script>.<label>.<domain>` is a worker; so is `/workers/<script>/…` on any other host, and the URL passed to the
 * worker does not include this prefix. `customer-<code>.<videoDomain>` serves only videos, even if it is below
 * `domain`. Every other host belongs to the platform, or is unknown if `platformHosts` is set and does not include it.
 */
export function destinationOf(
  url: string,
  host: string | undefined,
  { domain, videoDomain = "", uploadHost = "", platformHosts = [], byPath = true }: HostNames,
): Destination {
  const name = hostName(host);
  if (videoDomain !== "" && name.startsWith("customer-") && name.slice(name.indexOf(".") + 1) === hostName(videoDomain))
    return { kind: "video" };
  const worker = workerOf(name, domain);
  if (worker !== undefined) return { kind: "worker", ...worker, url };
  if (uploadHost !== "" && name === hostName(uploadHost)) return { kind: "upload", path: pathOf(url) };
  if (platformHosts.length > 0 && !platformHosts.some((each) => hostName(each) === name))
    return { kind: "unknown", path: pathOf(url) };
  const [, script, path = "/", query = ""] = (byPath && url.startsWith("/workers/") && WORKERS_PATH.exec(url)) || [];
  if (script !== undefined) return { kind: "default-account-worker", script: decoded(script), url: path + query };
  return { kind: "platform", path: pathOf(url) };
}

/** True if a route or a custom domain may apply, because the server itself does not use the host. */
export function mayBeRouted(
  { kind }: Destination,
  host: string | undefined,
  { platformHosts = [], isOwnHost = () => false, hasApiHost = true }: HostNames,
): boolean {
  if (!hasApiHost || isOwnHost(hostName(host))) return false;
  if (kind === "unknown") return true;
  if (kind !== "platform" && kind !== "default-account-worker") return false;
  return platformHosts.length === 0;
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

/** Parses a lower-case host name without port as a worker's: `<script>.<label>.<domain>`. */
function workerOf(name: string, domain: string): { script: string; label: string } | undefined {
  if (name.length <= domain.length || !name.endsWith(domain) || name[name.length - domain.length - 1] !== ".")
    return undefined;
  const [script, label, ...extraLabels] = name.slice(0, -domain.length - 1).split(".");
  return script === "" || label === undefined || label === "" || extraLabels.length > 0
    ? undefined
    : { script: script!, label };
}

/**
 * Parent domain of the workers of one account, `<label>.<domain>`; undefined if the host does not belong to a worker.
 */
export function workerParent(host: string | undefined, domain: string): string | undefined {
  const worker = workerOf(hostName(host), domain);
  return worker && `${worker.label}.${domain}`;
}

/**
 * True if a request has more than one Host header. Such a request is rejected, because a proxy may have used the other
 * host (RFC 9112 3.2).
 */
export function namesTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === "host") hosts++;
  return hosts > 1;
}

/** Returns the host name in lower case, without port and trailing dot. */
export function hostName(host = ""): string {
  const colon = host.lastIndexOf(":");
  const name = colon < 0 || host.endsWith("]") ? host : host.slice(0, colon);
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
