import type { ApiConnection } from "../api/connect.ts";
import { failureAdvice, videoErrors } from "./errors.ts";
import { poll } from "./poll.ts";
import { stateText, videoPath, type ApiVideo } from "./video.ts";

export const waitOption = { wait: { type: "boolean", summary: "wait until the video is playable" } } as const;

/** Resolves when the video is playable. Throws failed, notUploaded, stuck. */
export async function waitUntilPlayable(connection: ApiConnection, uid: string): Promise<ApiVideo> {
  const { api, progress } = connection;
  const video = await poll(() => api.result<ApiVideo>("GET", videoPath(connection, uid)), {
    until: ({ readyToStream, status: { state } }) => readyToStream || state === "error" || state === "pendingupload",
    changes: stateText,
    onSeen: (polledVideo) => progress.step(`waiting until the video is playable: ${stateText(polledVideo)}`),
    createStalledError: (polledVideo, minutes) =>
      videoErrors.stuck({ uid, minutes, state: `the video is ${stateText(polledVideo)}` }),
  }).finally(() => progress.clear());
  const { state, errorReasonCode: reason, errorReasonText: text } = video.status;
  if (state === "error") throw videoErrors.failed({ uid, text, reason, advice: failureAdvice(reason) });
  if (!video.readyToStream) throw videoErrors.notUploaded({ uid });
  return video;
}
