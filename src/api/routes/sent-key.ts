import { API_BASE } from "../base.ts";
import type { Call } from "../operation.ts";

/**
 * The parameter that takes the rest of `path` (that of the operation), decoded once. Where it is not UTF-8, `undecodable` is thrown:
 * the parameter itself would hold a mixture of what could be decoded and what could not.
 */
export function sentKey({ node }: Pick<Call, "node">, path: string, undecodable: () => Error): string {
  const segments = node.incoming.url!.split("?", 1)[0]!.split("/");
  try {
    return decodeURIComponent(segments.slice(`${API_BASE}${path}`.split("/").length - 1).join("/"));
  } catch {
    throw undecodable();
  }
}
