import { API_BASE } from "../base.ts";
import type { Call } from "../operation.ts";

/**
 * Returns the value of the last parameter of the operation's `path`, which takes the rest, decoded once. Throws
 * `undecodable` if it is not UTF-8: the router's own value would be partially decoded.
 */
export function keyFromPath({ node }: Pick<Call, "node">, path: string, undecodable: () => Error): string {
  const segments = node.incoming.url!.split("?", 1)[0]!.split("/");
  try {
    return decodeURIComponent(segments.slice(`${API_BASE}${path}`.split("/").length - 1).join("/"));
  } catch {
    throw undecodable();
  }
}
