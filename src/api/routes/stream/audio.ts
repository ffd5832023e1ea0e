import { z } from "@hono/zod-openapi";
import { streamErrors, type Audio } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";

interface StreamAudioDeps {
  audio: Pick<Audio, "copy" | "form" | "list" | "edit" | "delete">;
}

const tag = "Stream Audio Tracks";
const TRACKS_PATH = "/accounts/{account_id}/stream/{identifier}/audio";
const TRACK_PATH = `${TRACKS_PATH}/{audio_identifier}`;

const trackSchema = z.object({
  uid: z.string(),
  label: z.string(),
  default: z.boolean(),
  status: z.enum(["queued", "ready", "error"]),
});
const copyBody = z.object({ label: z.string(), url: z.string().nullish() });
const editBody = z.object({ label: z.string().optional(), default: z.boolean().optional() });

export const streamAudioRoutes = ({ audio }: StreamAudioDeps): Route[] => [
  route(
    {
      id: "list-audio-tracks",
      method: "get",
      path: TRACKS_PATH,
      tag,
      summary: "List the additional audio tracks of a video",
      permission: "Stream Read",
      result: z.object({ audio: z.array(trackSchema) }),
    },
    async ({ params }) => respond({ audio: await audio.list(params.account_id!, params.identifier!) }),
  ),
  route(
    {
      id: "stream-upload-audio-track",
      method: "post",
      path: TRACKS_PATH,
      tag,
      summary: "Add an audio track to a video: a form with `file` and `label`",
      permission: "Stream Write",
      result: trackSchema,
    },
    async (call) =>
      respond(
        await audio.form(call.params["account_id"]!, call.params["identifier"]!, call.node.incoming, call.confirm),
      ),
  ),
  route(
    {
      id: "add-audio-track",
      method: "post",
      path: `${TRACKS_PATH}/copy`,
      tag,
      summary: "Add an audio track to a video from a URL",
      permission: "Stream Write",
      translate: toBadParameter,
      body: copyBody,
      result: trackSchema,
    },
    async ({ params, body: { label, url } }) => {
      if (!url) throw streamErrors.badParameter({ reason: "url is required: the URL of the audio file" });
      return respond(await audio.copy(params.account_id!, params.identifier!, { url, label }));
    },
  ),
  route(
    {
      id: "edit-audio-tracks",
      method: "patch",
      path: TRACK_PATH,
      tag,
      summary: "Rename an audio track, or make it the default",
      permission: "Stream Write",
      translate: toBadParameter,
      body: editBody,
      result: trackSchema,
    },
    async ({ params, body }) =>
      respond(await audio.edit(params.account_id!, params.identifier!, params.audio_identifier!, body)),
  ),
  route(
    {
      id: "delete-audio-tracks",
      method: "delete",
      path: TRACK_PATH,
      tag,
      summary: "Delete an audio track that is not the default",
      permission: "Stream Write",
      result: z.string(),
    },
    async ({ params }) => {
      await audio.delete(params.account_id!, params.identifier!, params.audio_identifier!);
      return respond("ok");
    },
  ),
];
