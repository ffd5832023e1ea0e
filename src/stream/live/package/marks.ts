import type { Viewing } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";

/**
 * The next broadcast under an input id (or a token for it) has the same segment numbers, so URLs that caches keep for a
 * week must differ: such URLs include a mark of the broadcast.
 */
export const broadcastMark = ({ id, video: { uid } }: Viewing): { of?: string } =>
  id === uid ? {} : { of: uid.slice(0, 12) };

export const suffixOf = ({ of }: { of?: string }): string => (of === undefined ? "" : `?of=${of}`);

/** Throws segmentNotFound for a URL of a broadcast other than the current one. */
export function checkMark({ query, params, video: { uid } }: Viewing): void {
  const of = query.get("of");
  if (of !== null && !uid.startsWith(of))
    throw streamErrors.segmentNotFound({ segment: params["file"] ?? "list", rendition: params["rendition"] });
}
