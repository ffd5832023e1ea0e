import { z } from "@hono/zod-openapi";
import { showVideo, type StreamUrls, type Uploads } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { secretField } from "../../secret-fields.ts";
import { requestedFields, requestedVideo } from "./requested-video.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { instant, watermarkSchema } from "./video-schemas.ts";

interface StreamDirectUploadDeps {
  uploads: Pick<Uploads, "direct">;
  urls: Pick<StreamUrls, "of">;
}

const directBody = z.object({ ...requestedFields, maxDurationSeconds: z.number(), expiry: instant.nullish() });
const directSchema = z.object({
  uploadURL: secretField(z.string()),
  uid: z.string(),
  creator: z.string().optional(),
  watermark: watermarkSchema.nullable(),
  scheduledDeletion: z.string().nullable(),
});

export const streamDirectUploadRoutes = ({ uploads, urls }: StreamDirectUploadDeps): Route[] => [
  route(
    {
      id: "stream-videos-upload-videos-via-direct-upload-ur-ls",
      method: "post",
      path: "/accounts/{account_id}/stream/direct_upload",
      tag: "Stream Videos",
      summary: "Create a one-time URL for uploading a video without a token",
      permission: "Stream Write",
      translate: toBadParameter,
      body: directBody,
      result: directSchema,
    },
    async (call) => {
      const { maxDurationSeconds, expiry } = call.body;
      const { video, uploadUrl } = await uploads.direct(call.params["account_id"]!, {
        ...requestedVideo(call.body, call),
        maxDurationSeconds,
        ...(expiry != null && { uploadExpiry: expiry }),
      });
      const { creator, watermark, scheduledDeletion } = showVideo(video, urls);
      return respond({
        uploadURL: uploadUrl,
        uid: video.uid,
        ...(creator !== null && { creator }),
        watermark,
        scheduledDeletion,
      });
    },
  ),
];
