/** What a request is for, as its host and path tell. */
export type Destination =
  | { kind: "worker"; label: string; script: string; url: string }
  | { kind: "default-account-worker"; script: string; url: string }
  | { kind: "video" }
  | { kind: "platform"; path: string };

const WORKERS_PATH = /^\/workers\/([^/?#]+)(\/[^?]*)?(\?.*)?$/;

/**
 * `<script>.<label>.<domain>` is a worker; so is `/workers/<script>/…` on any other name, without that prefix in the URL the worker sees.
 * `customer-<code>.<videoDomain>` has videos and nothing else, also where that is a name below `domain`. Everything else is the platform's own.
 */
export function destinationOf(url: string, host: string | undefined, domain: string, videoDomain = ""): Destination {
  const name = hostName(host);
  if (videoDomain !== "" && name.startsWith("customer-") && name.slice(name.indexOf(".") + 1) === hostName(videoDomain)) return { kind: "video" };
  if (name.length > domain.length && name.endsWith(domain) && name[name.length - domain.length - 1] === ".") {
    const labels = name.slice(0, -domain.length - 1).split(".");
    if (labels.length === 2 && labels.every((label) => label !== "")) return { kind: "worker", script: labels[0]!, label: labels[1]!, url };
  }
  const [, script, path = "/", query = ""] = (url.startsWith("/workers/") && WORKERS_PATH.exec(url)) || [];
  if (script !== undefined) return { kind: "default-account-worker", script: decoded(script), url: path + query };
  const end = url.indexOf("?");
  return { kind: "platform", path: end < 0 ? url : url.slice(0, end) };
}

/** RFC 9112 3.2: such a request is refused, because whoever stands in front may have gone by the other one. */
export function namesTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === "host") hosts++;
  return hosts > 1;
}

/** Without the port and the dot of the root, in lower case. */
function hostName(host = ""): string {
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
