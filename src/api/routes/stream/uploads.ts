import { z } from "@hono/zod-openapi";
import { hasUploadBody, showVideo, type StreamUrls, type Uploads } from "../../../stream/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import { respond, route, type Route } from "../../operation.ts";
import { withSentBody } from "../sent-body.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { videoSchema } from "./video-schemas.ts";

interface StreamUploadsDeps {
  uploads: Pick<Uploads, "tus" | "form" | "tusHeaders">;
  urls: Pick<StreamUrls, "of">;
  /** Default: ids cannot be chosen. */
  chosenIds?: ChosenIds;
}

const uploadQuery = z.object({
  direct_user: z
    .enum(["true", "false", "1", "0", ""])
    .default("false")
    .transform((word) => word === "true" || word === "1"),
});

/** Two upload methods at one URL: a TUS client sends a specific header; all others send a form. */
export const streamUploadsRoutes = ({ uploads, urls, chosenIds = noChosenIds }: StreamUploadsDeps): Route[] => [
  route(
    {
      id: "stream-videos-initiate-video-uploads-using-tus",
      method: "post",
      path: "/accounts/{account_id}/stream",
      tag: "Stream Videos",
      summary: "Upload a video: start a TUS upload, or send a form with the file",
      chosenId: "hex",
      permission: "Stream Write",
      translate: toBadParameter,
      query: uploadQuery,
      result: videoSchema,
      options: uploads.tusHeaders,
    },
    async (call) => {
      const account = call.params.account_id!;
      const { incoming } = call.node;
      if (incoming.headers["tus-resumable"] === undefined)
        return respond(showVideo(await uploads.form(account, incoming, { confirm: call.confirm }), urls));
      const creation = {
        headers: incoming.headers,
        directUser: call.query.direct_user,
        uid: await chosenIds.of(call, "hex"),
      };
      const { headers } = hasUploadBody(incoming)
        ? await withSentBody(call, (body) => uploads.tus(account, { ...creation, body }))
        : await uploads.tus(account, creation);
      return new Response(null, { status: 201, headers });
    },
  ),
];
