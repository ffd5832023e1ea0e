import type { Viewing } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";

/**
 * Under the id of an input (or a token for it) there is another broadcast tomorrow, with the same numbers: what is kept in caches for a week must have
 * another address then. Such addresses say which broadcast they are of.
 */
export const broadcastMark = ({ id, video: { uid } }: Viewing): { of?: string } =>
  id === uid ? {} : { of: uid.slice(0, 12) };

export const suffixOf = ({ of }: { of?: string }): string => (of === undefined ? "" : `?of=${of}`);

/** Throws segmentNotFound for an address of another broadcast than the one that is shown now. */
export function checkMark({ query, params, video: { uid } }: Viewing): void {
  const of = query.get("of");
  if (of !== null && !uid.startsWith(of))
    throw streamErrors.segmentNotFound({ segment: params["file"] ?? "list", rendition: params["rendition"] });
}
