import { z } from "@hono/zod-openapi";
import { showVideo, type Clips, type StreamUrls } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { requestedFields, requestedVideo } from "./requested-video.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { videoSchema } from "./video-schemas.ts";

interface StreamClipDeps {
  clips: Clips;
  urls: Pick<StreamUrls, "of">;
}

/** For this operation, the published fields `input` and `url` add nothing to `clippedFromVideoUID`. */
const clipBody = z.object({
  ...requestedFields,
  clippedFromVideoUID: z.string(),
  startTimeSeconds: z.number(),
  endTimeSeconds: z.number(),
  name: z.string().nullish(),
  input: z.string().nullish(),
  url: z.string().nullish(),
});

export const streamClipRoutes = ({ clips, urls }: StreamClipDeps): Route[] => [
  route(
    {
      id: "stream-video-clipping-clip-videos-given-a-start-and-end-time",
      method: "post",
      path: "/accounts/{account_id}/stream/clip",
      tag: "Stream Video Clipping",
      summary: "Clip a video: create a new video from a section of it",
      permission: "Stream Write",
      translate: toBadParameter,
      body: clipBody,
      result: videoSchema,
    },
    async (call) => {
      const { clippedFromVideoUID: from, startTimeSeconds: start, endTimeSeconds: end, name } = call.body;
      const requestedClip = requestedVideo(call.body, call);
      const nameMeta = name ? { meta: { name, ...requestedClip.meta } } : {};
      return respond(
        showVideo(
          await clips.create(call.params["account_id"]!, { ...requestedClip, ...nameMeta, from, start, end }),
          urls,
        ),
      );
    },
  ),
];
