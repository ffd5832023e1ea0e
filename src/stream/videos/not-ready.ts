import type { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "./video.ts";

/** Why nothing can be made of a video: not yet, or never. Clients repeat the first by themselves, and not the second. */
export function notReady({ state, errorReason }: Pick<Video, "state" | "errorReason">): UserError {
  if (state === "error") return streamErrors.videoFailed({ code: errorReason?.code ?? "ERR_UNKNOWN" });
  // Only recordings are ready before there is a file of them.
  return state === "ready" ? streamErrors.recordingNotWhole() : streamErrors.notReady({ state });
}

/** Why a viewer gets nothing yet. What a live input leads to before its first broadcast has the uid of the input. */
export const notPlayableYet = ({ uid, liveInput, state }: Pick<Video, "uid" | "liveInput" | "state">): UserError =>
  uid === liveInput ? streamErrors.liveNotBegun() : streamErrors.notPlayableYet({ state });
