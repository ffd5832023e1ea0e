import { z } from "@hono/zod-openapi";
import { showVideo, streamErrors, type StreamUrls, type Uploads } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { requestedFields, requestedVideo } from "./requested-video.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { videoSchema } from "./video-schemas.ts";

interface StreamCopyDeps {
  uploads: Pick<Uploads, "copy">;
  urls: Pick<StreamUrls, "of">;
}

/** `url` is the former name of `input`; `name` is short for `meta.name`. */
const copyBody = z.object({
  ...requestedFields,
  input: z.string().nullish(),
  url: z.string().nullish(),
  name: z.string().nullish(),
});

export const streamCopyRoutes = ({ uploads, urls }: StreamCopyDeps): Route[] => [
  route(
    {
      id: "stream-videos-upload-videos-from-a-url",
      method: "post",
      path: "/accounts/{account_id}/stream/copy",
      tag: "Stream Videos",
      summary: "Upload a video from a URL",
      permission: "Stream Write",
      translate: toBadParameter,
      body: copyBody,
      result: videoSchema,
    },
    async (call) => {
      const { input, url, name } = call.body;
      const from = input || url;
      if (!from) throw streamErrors.badParameter({ reason: "input is required: the URL of the video" });
      const requestedCopy = requestedVideo(call.body, call);
      const nameMeta = name ? { meta: { name, ...requestedCopy.meta } } : {};
      return respond(
        showVideo(await uploads.copy(call.params["account_id"]!, { ...requestedCopy, ...nameMeta, url: from }), urls),
      );
    },
  ),
];
