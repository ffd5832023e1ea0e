import { z } from "@hono/zod-openapi";
import type { RequestedVideo } from "../../../stream/index.ts";
import type { Call } from "../../operation.ts";
import { creatorField, instant, metaField } from "./video-schemas.ts";

/** Fields that a client may set when it requests a one-time upload URL or a copy. */
export const requestedFields = {
  allowedOrigins: z.array(z.string()).nullish(),
  creator: creatorField.optional(),
  meta: metaField.nullish(),
  requireSignedURLs: z.boolean().nullish(),
  scheduledDeletion: instant.nullish(),
  thumbnailTimestampPct: z.number().nullish(),
  watermark: z.object({ uid: z.string().nullish() }).nullish(),
};

type Given = z.output<z.ZodObject<typeof requestedFields>>;

/** Converts the body of a request to the fields of a new video; a header may specify the creator. */
export function requestedVideo(
  { allowedOrigins, creator, meta, requireSignedURLs, scheduledDeletion, thumbnailTimestampPct, watermark }: Given,
  {
    node: {
      incoming: { headers },
    },
  }: Pick<Call, "node">,
): RequestedVideo {
  const uploadCreator = headers["upload-creator"];
  return {
    creator: creator ?? (typeof uploadCreator === "string" ? uploadCreator : null),
    ...(allowedOrigins && { allowedOrigins }),
    ...(meta && { meta }),
    ...(requireSignedURLs != null && { requireSignedURLs }),
    ...(scheduledDeletion != null && { scheduledDeletion }),
    ...(thumbnailTimestampPct != null && { thumbnailTimestampPct }),
    ...(watermark?.uid && { watermark: watermark.uid }),
  };
}
