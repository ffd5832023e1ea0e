import type { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "./video.ts";

/**
 * Returns the error for a video that cannot be processed, either yet or at all. Clients retry automatically only in the
 * first case.
 */
export function notReadyError({ state, errorReason }: Pick<Video, "state" | "errorReason">): UserError {
  if (state === "error") return streamErrors.videoFailed({ code: errorReason?.code ?? "ERR_UNKNOWN" });
  // Only recordings are ready before they are stored in one file.
  return state === "ready" ? streamErrors.recordingNotWhole() : streamErrors.notReady({ state });
}

/**
 * Returns the error for a video that has nothing to play yet. Before its first broadcast, a live input resolves to a
 * video with the uid of the input.
 */
export const notPlayableError = ({ uid, liveInput, state }: Pick<Video, "uid" | "liveInput" | "state">): UserError =>
  uid === liveInput ? streamErrors.liveNotBegun() : streamErrors.notPlayableYet({ state });
