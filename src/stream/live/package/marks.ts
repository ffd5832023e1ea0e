import type { DeliveryContext } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";

/**
 * Segment numbers repeat in the next broadcast under an input id (or a token for it), but caches store URLs for a week,
 * so each URL must differ: it includes a mark of the broadcast.
 */
export const broadcastIdQuery = ({ id, video: { uid } }: DeliveryContext): { of?: string } =>
  id === uid ? {} : { of: uid.slice(0, 12) };

export const suffixOf = ({ of }: { of?: string }): string => (of === undefined ? "" : `?of=${of}`);

/** Throws segmentNotFound for a URL that does not belong to the current broadcast. */
export function checkBroadcastId({ query, params, video: { uid } }: DeliveryContext): void {
  const of = query.get("of");
  if (of !== null && !uid.startsWith(of))
    throw streamErrors.segmentNotFound({ segment: params["file"] ?? "list", rendition: params["rendition"] });
}
